# ruff: noqa: E501 -- one row of the table, one line
"""The table of commands and statements that take a secret as a bare word: nothing beside it says what it is.

Same rows as in `patterns.py`.
"""

import re

from aimemory.privacy.contexts import is_given
from aimemory.privacy.patterns import Row
from aimemory.privacy.values import is_hash, is_random

_W = r"(?P<s>[^\s\"'\\;|&<>-][^\s\"'\\;|&<>]{3,255})"
"""A secret as one word of a command."""
_Q = r"\\{0,3}[\"']?"
_HEX = "4f9a1c7e2b8d0365" * 2
_TOKEN = "zq8f7d6a5b4c3e2f1a0b"


def is_token(m: re.Match[str]) -> bool:
    """An opaque word, or digits that name nothing here."""
    return is_given(m) and (is_random(m["s"], 16) or (is_hash(m["s"]) and len(m["s"]) >= 32))


def is_no_word(m: re.Match[str]) -> bool:
    """Given, and no word of a sentence about the command."""
    return is_given(m) and not m["s"].isalpha()


def _of_secret(m: re.Match[str]) -> bool:
    line = m.string[max(0, m.start() - 400) : m.start()].replace("\\\n", " ").rpartition("\n")[2].lower()
    return "secret" in line and is_given(m)


COMMANDS: tuple[Row, ...] = (
    Row("token", (" login ", " auth ", "setapikey ", "authorizations"), r"(?:(?:cargo|vault|wandb|hf|huggingface-cli|railway|turso|expo|eas|okta|vercel|netlify|terraform|doppler)[ ]login|snyk[ ]auth|nuget[ ]setapikey|heroku[ ]authorizations:\w{1,12})[ ]{1,4}(?:--?[\w-]{0,30}(?:=[^\s]{1,80})?[ ]{1,4}){0,4}" + _Q + r"(?P<s>[\w.+/=-]{16,512})",
        ("cargo login «" + _TOKEN + "Kq3Xw9Vb4Lm8»", "vault login «s.Zq7Xw9Vb4Lm8Rt1Yp6Ns3Hd5»", "vault login -no-print «" + _TOKEN + "»", "wandb login «" + _HEX + "4f9a1c7e»", "snyk auth «4f9a1c7e-1c7e-4b8d-a365-2b8d03654f9a»", "nuget setapikey «" + _TOKEN + "»"),
        ("cargo login --registry my-registry", "vault login -method=oidc role=developers-of-ours", "terraform login app.terraform.io", "vercel login someone@example.com", "the vault login command-line-tool", "cargo login $CARGO_TOKEN_OF_MINE", "wandb login --relogin"), check=is_token, scope="low"),
    Row("password", ("sqlplus", "sqlldr", "expdp", "impdp"), r"\b(?:sqlplus|sqlldr|expdp|impdp)[ ]{1,4}(?:-[A-Za-z]{1,8}[ ]{1,4}(?:\d[\d.]{0,6}[ ]{1,4})?){0,4}(?:userid=)?" + _Q + r"[\w$#]{1,60}/\\{0,3}\"?(?P<s>[^\s@\"'/\\;|&$<>]{3,128})",
        ("sqlplus scott/«tiger99»@db", "sqlplus -s system/«Xk9mQ2vL7pR4»@//db:1521/x", "expdp hr/\"«Xk9mQ2»\"@db directory=d", "sqlldr userid=scott/«tiger99» control=c"),
        ("sqlplus / as sysdba", "sqlplus -S /nolog", "sqlplus me@db", "sqlplus me/$PW@db", "sqlplus me/<password>@db"), check=is_given, scope="low"),
    Row("api-key", ("key=", "appid="), r"://[^\s\"'<>?]{1,300}\?(?:[\w.%-]{1,60}=[^\s&\"'<>]{0,200}&){0,8}?(?:key|appid)=(?P<s>[0-9A-Fa-f]{32,64})(?![\w.%-])",
        ("https://api.example.com/v1?key=«" + _HEX + "»&q=x", "https://api.example.com/data?q=Rome&appid=«" + _HEX + "»"), ("https://x/?key=4f9a1c7e", "/cache?key=" + _HEX, "https://x/?pagekey=" + _HEX, "https://x/?v=" + _HEX), scope="low"),
    Row("secret", ("secret",), r"\bgh[ ]secret[ ]set[ ][^\n|;&]{0,160}?(?:-b[ ]?|--body[ =])" + _Q + _W, ("gh secret set NAME --body «hunter2xyz»", "gh secret set NAME -b'«hunter2xyz»'"), ("gh secret set NAME --body $VALUE", "gh secret set -f .env"), check=is_given, scope="low", hint="gh secret set "),
    Row("secret", ("--from-literal",), r"--from-literal[= ]" + _Q + r"[\w.-]{1,80}=" + _Q + _W, ("kubectl create secret generic x --from-literal=foo=«hunter2xyz»", "kubectl create secret generic x --from-literal 'foo=«hunter2xyz»'"), ("kubectl create configmap x --from-literal=foo=hunter2xyz", "kubectl create secret generic x --from-literal=foo=$FOO"), check=_of_secret, scope="low"),
    Row("secret", ("--secret",), r"\bpulumi[ ]config[ ]set[ ](?:[^\s]{1,80}[ ]){0,4}?--secret[ ][\w:.-]{1,80}[ ]" + _Q + _W, ("pulumi config set --secret dbpw «hunter2xyz»",), ("pulumi config set --secret dbpw", "pulumi config set --secret dbpw $PW"), check=is_no_word, scope="low", hint="pulumi config set "),
    Row("password", ("ssh-keygen",), r"\bssh-keygen[ ][^\n|;&]{0,200}?-N[ ]?" + _Q + _W, ("ssh-keygen -t ed25519 -N '«hunter2xyz»' -f k",), ("ssh-keygen -N '' -f k", "ssh-keygen -N \"$PW\" -f k"), check=is_given, scope="low", hint="ssh-keygen [^\n]{0,200}-n"),
    Row("password", ("bw ",), r"\bbw[ ](?:unlock|login[ ][^\s@]{1,80}@[^\s]{1,80})[ ]" + _Q + _W, ("bw unlock «hunter2xyz»", "bw login me@example.com «hunter2xyz»"), ("bw unlock --raw", "bw login me@example.com", "bw unlock $PW"), check=is_no_word, scope="low", hint="bw (?:unlock|login)"),
    Row("password", ("net user ",), r"\bnet[ ]user[ ][^\s/]{1,60}[ ](?P<s>[^\s/*\"'$%<>-][^\s\"'/]{3,127})[ ]/(?:add|domain|expires|active)", ("net user bob «hunter2xyz» /add",), ("net user bob * /add", "net user bob /delete"), check=is_given, scope="low"),
    Row("password", ("rabbitmqctl",), r"\brabbitmqctl[ ](?:[^\s]{1,60}[ ]){0,3}?(?:add_user|change_password|authenticate_user)[ ][^\s]{1,60}[ ]" + _Q + _W, ("rabbitmqctl add_user bob «hunter2xyz»",), ("rabbitmqctl add_user bob", "rabbitmqctl add_user bob $PW"), check=is_no_word, scope="low"),
    Row("secret", ("mc alias set",), r"\bmc[ ]alias[ ]set[ ][^\s]{1,60}[ ][^\s]{1,200}[ ][^\s]{1,128}[ ]" + _Q + _W, ("mc alias set x https://h minio «hunter2xyz»",), ("mc alias set x https://h $KEY $SECRET",), check=is_no_word, scope="low"),
    Row("token", ("pypi-token.", "github-oauth.", "gitlab-token.", "bearer."), r"\bconfig[ ](?:-[\w-]{1,30}[ ]){0,3}(?:pypi-token|github-oauth|gitlab-token|bearer)\.[\w.-]{1,80}[ ]" + _Q + _W, ("poetry config pypi-token.pypi «" + _TOKEN + "»", "composer config --global github-oauth.github.com «" + _HEX + "»"), ("poetry config pypi-token.pypi --unset", "poetry config pypi-token.pypi $TOKEN"), check=is_no_word, scope="low"),
    Row("password", ("http-basic.",), r"\bhttp-basic\.[\w.-]{1,80}[ ][^\s]{1,80}[ ]" + _Q + _W, ("poetry config http-basic.x me «hunter2xyz»",), ("poetry config http-basic.x me $PW", "poetry config http-basic.x --unset"), check=is_no_word, scope="low"),
    Row("password", ("htpasswd",), r"\bhtpasswd[ ](?:-[a-zA-Z]{1,8}[ ]){0,3}-(?:[a-zA-Z]*n[a-zA-Z]*b|[a-zA-Z]*b[a-zA-Z]*n)[a-zA-Z]*[ ]" + _Q + r"[^\s\"']{1,80}[\"']?[ ]" + _Q + _W, ("htpasswd -nb me «hunter2xyz»", "htpasswd -nbB me «hunter2xyz»"), ("htpasswd -n me", "htpasswd -nb"), check=is_no_word, scope="low", hint="htpasswd -"),
    Row("password", ("lftp",), r"\blftp[ ][^\n|;&]{0,120}?-u[ ]" + _Q + r"[^\s,\"']{1,80},(?P<s>[^\s\"']{3,128})", ("lftp -u me,«hunter2xyz» sftp://h",), ("lftp -u me,$PW h",), check=is_given, scope="low"),
    Row("password", ("identified ",), r"(?i)\bidentified[ ](?:with[ ][\w']{1,40}[ ])?(?:by|as)[ ](?:password[ ])?\\{0,3}[\"'](?P<s>[^\"'\\\n]{3,128})\\{0,3}[\"']", ("CREATE USER 'x'@'%' IDENTIFIED BY '«hunter2xyz»'", "ALTER USER x IDENTIFIED WITH mysql_native_password BY '«hunter2xyz»'"), ("CREATE USER x IDENTIFIED BY '?'", "identified by name", "all commands identified by \"code\" are jumps"), check=is_given, scope="low", hint=r"(?:user|role|grant|login)[^\n]{0,200}identified "),
    Row("password", ("password",), r"(?i)(?:\bpassword[ ]?=[ ]?n|=[ ]?password\([ ]?)\\{0,3}[\"'](?P<s>[^\"'\\\n]{3,128})\\{0,3}[\"']", ("ALTER LOGIN sa WITH PASSWORD = N'«hunter2xyz»'", "SET PASSWORD FOR x = PASSWORD('«hunter2xyz»')"), ("getpass.getpassword('Name: ')", "x = await read.password('Current password: ')", "ALTER LOGIN sa WITH PASSWORD = N'$(PW)'"), check=is_given, scope="low", hint=r"(?:login|set password|user)[^\n]{0,200}password"),
    Row("password", ("requirepass", "masterauth"), r"\b(?:requirepass|masterauth)[ ]{1,8}" + _Q + _W, ("requirepass «hunter2xyz»", "redis-cli config set requirepass «hunter2xyz»"), ("requirepass $PW", "# requirepass"), check=is_no_word, scope="low"),
    Row("token", ("sonar.login", "sonar.token"), r"sonar\.(?:login|token)=" + _Q + r"(?P<s>[\w]{16,128})", ("sonar-scanner -Dsonar.login=«" + _HEX + "4f9a1c7e»",), ("sonar-scanner -Dsonar.login=$TOKEN",), check=is_given, scope="low"),
    Row("secret", ("secret",), r"\becho[ ](?:-n[ ])?" + _Q + r"(?P<s>[^\s\"'\\|;&$]{4,256})[\"']?[ ]{0,4}\|[ ]{0,4}(?:npx[ ])?(?:wrangler|fly(?:ctl)?|gh|supabase|doppler)[ ]secrets?[ ]", ("echo «hunter2xyz» | wrangler secret put X", "echo -n '«hunter2xyz»' | gh secret set X"), ("echo $X | gh secret set X", "echo done | gh secrets"), check=is_no_word, scope="low", hint=r"echo [^\n|]{4,270}\|"),
    Row("password", ("rclone obscure",), r"\brclone[ ]obscure[ ]" + _Q + _W, ("rclone obscure «hunter2xyz»",), ("rclone obscure $PW", "rclone obscure -"), check=is_no_word, scope="low"),
)  # fmt: skip
