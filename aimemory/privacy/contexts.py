# ruff: noqa: E501 -- one row of the table, one line
"""The table of places where a secret stands whatever it looks like: headers, URLs, flags, `.netrc`, cookies.

Same rows as in `patterns.py`. Names that assign (`password=…`) are found by `assignment.py`; their forms are listed
here with examples and look-alikes, so that one test walks everything.
"""

import re
from typing import NamedTuple

from aimemory.privacy.judge import Place, secret_part
from aimemory.privacy.patterns import Row
from aimemory.privacy.pem import BREAK
from aimemory.privacy.values import has_digit_and_letter, is_blank, is_mixed, is_random, is_template

PASSWORD_FLAG = Place("password", 3, quoted=True)
TOKEN_FLAG = Place("token", 2, literal=True)


def is_given(m: re.Match[str]) -> bool:
    """Written out, and no placeholder, variable or template."""
    value = m["s"]
    return (
        not is_template(value)
        and (len(value) < 4 or not is_blank(value))
        and value[:1] not in "$<{%*["
        and not value.isspace()
    )


def _opaque(m: re.Match[str]) -> bool:
    return is_random(m["s"], 16)


def _flag(m: re.Match[str]) -> bool:
    value = m["s"]
    place = PASSWORD_FLAG if "pass" in m["flag"].lower() or "pwd" in m["flag"].lower() else TOKEN_FLAG
    return secret_part(value, place) is not None


def _near(m: re.Match[str], *programs: str) -> bool:
    """One of the programs is called earlier in the same command (within 400 characters)."""
    line = m.string[max(0, m.start() - 400) : m.start()].replace("\\\n", " ").rpartition("\n")[2].lower()
    command = re.split(r"\s(?:&&|\|\|?)\s|;\s", line)[-1]
    return any(program in command for program in programs)


def _user_of_curl(m: re.Match[str]) -> bool:
    return _near(m, "curl", "wget", "http ", "https ") and is_given(m) and not m["s"].isdigit()


def _short_flag(m: re.Match[str]) -> bool:
    return _near(m, *_SHORT_FLAGS[m["flag"][0]]) and is_given(m)


def _of_rdp(m: re.Match[str]) -> bool:
    return _near(m, "rdp", "mstsc", "rdesktop") and is_given(m)


def _of_samba(m: re.Match[str]) -> bool:
    return _near(m, "smb", "rpcclient", "net ads", "winexe", "wmic") and is_given(m)


def _of_jwk(m: re.Match[str]) -> bool:
    """A JSON Web Key names its type in the same object."""
    around = m.string[max(0, m.start() - 900) : m.start()] + m.string[m.end() : m.end() + 900]
    return re.search(r"[\"']kty\\{0,3}[\"']", around) is not None


def _cookie(m: re.Match[str]) -> bool:
    """One of its values is opaque: `theme=dark` identifies nobody."""
    values = [pair.partition("=")[2] for pair in m["s"][:4096].split(";")]
    return any(
        len(value) >= 8 and (is_mixed(value) or is_random(value, 16)) and not is_template(value) for value in values
    )


def _cookie_of_curl(m: re.Match[str]) -> bool:
    return _near(m, "curl") and _cookie(m)


def _netrc(m: re.Match[str]) -> bool:
    return is_given(m) and re.search(_NETRC_LEAD, m.string[max(0, m.start() - 400) : m.start()]) is not None


def _sudo(m: re.Match[str]) -> bool:
    return is_given(m) and len(m["s"]) >= 4


def _mixed_or_long(m: re.Match[str]) -> bool:
    return is_given(m) and (is_mixed(m["s"]) or is_random(m["s"], 16))


def _user_only(m: re.Match[str]) -> bool:
    return is_random(m["s"], 16) or (len(m["s"]) >= 20 and has_digit_and_letter(m["s"]))


_SHORT_FLAGS = {
    "p": (
        "mysql",
        "mariadb",
        "sshpass",
        "docker login",
        "mongo",
        "podman login",
        "helm registry",
        "twine",
        "7z",
        "az login",
        "oc login",
        "cf login",
        "ibmcloud login",
        "expo login",
        "evil-winrm",
        "crackmapexec",
        "netexec",
        "hydra -",
        "nuget add source",
        "useradd",
        "usermod",
        "rar ",
        "unar ",
        "7zz",
        "ncftp",
        "psexec",
        "cqlsh",
        "medusa",
        "rdesktop",
        "skopeo login",
        "oras login",
        "crane auth",
        "rabbitmqadmin",
        "unlock-keychain",
        "certutil",
        "steghide",
    ),
    "P": ("zip", "sqlcmd", "bcp ", "isql", "mosquitto_", "ipmitool", "security import"),
    "a": ("redis-cli",),
    "w": ("ldap", "add-generic-password", "add-internet-password"),
    "k": ("openssl enc", "nuget push", "gem push"),
    "s": ("ldappasswd",),
    "h": ("rar ",),
}
_T32 = "q7Zk2Xw9Vb4Lm8Rt1Yp6Ns3Hd5Jf0Gcq"
_NETRC_LEAD = r"machine\s{1,20}\S{1,128}\s{1,20}(?:(?:login|account)\s{1,20}\S{1,128}\s{1,20}){0,2}\Z"
_Q = r"\\{0,3}[\"']?"

CONTEXTS: tuple[Row, ...] = (
    Row("url-password", ("://",), r"://[^\s/@:\"'<>?#\[]{0,80}:(?P<s>[^\s/@\"'<>`]{1,256})@(?=[\w\[$.-])",
        ("postgres://app:«hunter2»@db.example.com:5432/app", "https://bot:«p%40ss-w0rd»@example.com/x.git", "redis://:«s3cr3t!»@cache:6379/0",
         "mongodb+srv://root:«Tr0ub4dor&3»@cluster0.example.net"),
        ("http://localhost:8080/@scope/pkg", "postgres://user:${DB_PASS}@host/db", "https://<user>:<password>@host", "postgres://user:password@host/db",
         "https://host:443/a@b", "git@github.com:acme/app.git"), check=is_given, scope="low"),
    Row("url-token", ("://",), r"://(?P<s>[A-Za-z0-9_.~-]{16,256})(?::x-oauth-basic)?@(?=[\w\[-])",
        ("https://«" + "zq8f7d6a5b4c3e2f1a0b9c8d" + "»@git.example.com/acme/app.git",), ("ssh://deployment-user-one@host/x",), check=_user_only, scope="low"),
    Row("bearer-token", ("bearer",), r"[Bb](?:earer|EARER)(?:\s|%20|\+){1,4}(?P<s>[A-Za-z0-9._~+/=-]{16,})",
        ("Authorization: Bearer «" + "zq8f7d6a5b4c3e2f1a0b9c8d" + "»", "curl -H 'authorization: bearer «" + "Zq8f7d6A5b4c3E2f1a0B" + "»' https://x"),
        ("Bearer authentication-with-tokens", "Bearer $TOKEN", 'f"Bearer {token}"', "bearer <your-token-goes-here>"), check=_opaque, scope="low"),
    Row("cookie", ("cookie",), r"[Cc](?:ookie|OOKIE)2?" + _Q + r"[ \t]{0,4}[:=][ \t]{0,4}" + _Q
        + r"(?P<s>[\w.$%-]{1,64}=[^\s;,\"'<>\\]++(?:;[ ]?[\w.$%-]{1,64}=[^\s;,\"'<>\\]*+){0,50})",
        ("Cookie: «session=8f7d6a5b4c3e2f; theme=dark»", "Set-Cookie: «sid=abc123def456ghi789; Path=/»; HttpOnly", "Cookie: «a=1; sid=abc123def456ghi789»", '{"Cookie": "«sid=abc123def456»"}'),
        ("cookie = SimpleCookie()", "cookies: dict[str, str]", "Set-Cookie: <name>=<value>", "Set-Cookie: theme=dark-blue; Path=/"), check=_cookie, scope="low"),
    Row("cookie", (" -b", "--cookie"), r"(?:[ ]-b|--cookie)[ =]?[\"']?(?P<s>[\w.$%-]{1,64}=(?:[^\"'\n]{6,800}(?=[\"'])|[^\s\"']{6,}))",
        ("curl -b '«sid=abc123def456; t=1»' https://example.com", "curl --cookie '«sid=abc123def456»' https://x", "curl -b «sid=abc123def456» https://x"), ("git checkout -b 'name=abc123def456'",), check=_cookie_of_curl, scope="low"),
    Row("flag-value", ("--",), r"(?P<flag>--(?:[a-z0-9]{1,24}-){0,4}(?i:passw(?:or)?d|passphrase|pass|pwd|token|secret|api-?key|access-?key|secret-?key|auth-?key|private-?key|auth))"
        r"(?:[ ]{1,4}|=)" + _Q + r"(?P<s>[^\s\"'\\;|&-][^\s\"'\\;|&]{3,})",
        ("mytool --password «hunter2xyz» --verbose", "mytool --token=«zq8f7d6a5b4c» run", "gpg --passphrase '«0pen-sesame»' -d f", "tool --api-key \"«zq_8f7d6a5b4c3e2f1a»\""),
        ("tool --password --verbose", "tool --token $TOKEN", "tool --token <TOKEN>", "tool --password-file /run/secrets/db", "tool --secret id=npm,src=.npmrc"),
        check=_flag, scope="low", hint=r"--(?=[a-z])[a-z0-9-]{0,110}?(?:pass|pwd|token|secret|key|auth)"),
    Row("basic-auth", (" -u", "--user"), r"(?:[ ]-u|--user)[ =]?" + _Q + r"[^\s:\"'\\$]{1,80}:(?P<s>[^\s\"'\\]+)",
        ("curl -u admin:«hunter2» https://example.com", "curl -sS --user 'me@example.com:«s3cr3t»' https://x"),
        ("curl -u $USER:$PASS https://x", "docker run -u 1000:1000 app", "curl -u admin https://x"), check=_user_of_curl, scope="low"),
    Row("password", (" -p", " -a ", " -w ", " -k ", " -hp", "ldappasswd"), r"[ ]-(?P<flag>h?p[ ]?|[awkPs][ ])" + _Q + r"(?P<s>[^\s\"'\\;|&-][^\s\"'\\;|&]{2,})",
        ("mysql -u root -p«hunter2xyz» app", "sshpass -p '«hunter2xyz»' ssh host", "docker login -u me -p «hunter2xyz» registry.example.com",
         "redis-cli -h cache -a «hunter2» ping", "ldapsearch -x -D cn=admin -w «hunter2» -b dc=x", "7z x -p«hunter2xyz» a.7z", "unzip -P «hunter2» a.zip",
         "sqlcmd -S db -U sa -P «hunter2» -Q 'select 1'", "openssl enc -aes-256-cbc -k «hunter2» -in f", "twine upload -u __token__ -p «hunter2xyz» dist/x.whl",
         "useradd -m -p '«hunter2xyz»' bob", "rar a -hp«hunter2xyz» x.rar dir", "unrar x -p«hunter2xyz» x.rar", "mosquitto_pub -u me -P «hunter2xyz» -t a", "ldappasswd -s «hunter2xyz» cn=x", "security add-generic-password -a me -w «hunter2xyz»"),
        ("tar -P some/path", "grep -k some", "mysql -u root -p -h db app", "mkdir -p some/long/path", "sshpass -p $PW ssh host", "redis-cli -a $PW ping", "ldapsearch -W -b dc=x", "ls -a folder-of-mine",
         "useradd bob && mkdir -p some/long/path", "mysql app; ssh -p some-port h", "mosquitto_pub -p 1883 -t a", "the library -p option"), check=_short_flag, scope="low"),
    Row("password", ("pass:",), r"-pass(?:in|out)?[ ]" + _Q + r"pass:(?P<s>[^\s\"'\\;|&]{2,})", ("openssl rsa -in k.pem -passin pass:«hunter2» -out o.pem",), ("openssl rsa -passin env:PW",), check=is_given, scope="low"),
    Row("password", (" -s", "-stdin", "-with-token"), r"echo[ ](?:-n[ ])?" + _Q + r"(?P<s>[^\s\"'\\;|&$]{3,128})[\"']?[ ]{0,4}\|[ ]{0,4}(?:sudo[ ](?:-[A-Za-z]+[ ]){0,4}?-S|[^\n|;&]{1,120}?-(?:password-stdin|with-token))",
        ("echo «hunter2» | sudo -S apt update", "echo -n '«hunter2»' | docker login -u me --password-stdin", "echo «hunter2xyz» | gh auth login --with-token"), ("echo done | sudo tee file", "echo done | tee log"), check=_sudo, scope="low", hint=r"echo [^\n|]{3,140}\|"),
    Row("netrc", ("password",), r"password\s{1,20}(?P<s>\S+)",
        ("machine api.example.com login me password «hunter2»", "machine x.example.com\n  login me\n  password «correct-horse»\n"),
        ("machine learning login password-less setup", "the machine asks for a password twice"), check=_netrc, scope="low", hint=r"password\s{1,20}\S"),
    Row("signature", ("sig=", "signature=", "auth="), r"[?&](?:sig|signature|auth|[xX]-(?:amz|goog|Amz|Goog)-(?:signature|Signature))=(?P<s>[A-Za-z0-9%+/_.~-]{16,}+={0,2})",
        ("https://b.s3.amazonaws.com/o?X-Amz-Signature=«" + "4f9a1c7e2b8d03654f9a1c7e2b8d0365" + "»&x=1", "https://a.blob.core.windows.net/c/b?sv=2022-11-02&sig=«" + "q7Zk2Xw9Vb4Lm8Rt1Yp6Ns3Hd5Jf0Gcq7Zk2Xw9Vb4L" + "%3D»"),
        ("https://x/?sig=name&code=404", "?sig=short"), check=_mixed_or_long, scope="low"),
    Row("password", (" -storepass", " -keypass", " -srcstorepass", " -deststorepass"), r"[ ]-(?:src|dest)?(?:store|key)pass[ ]" + _Q + r"(?P<s>[^\s\"'\\;|&-][^\s\"'\\;|&]{3,})",
        ("keytool -genkey -storepass «hunter2xyz» -keystore k.jks",), ("keytool -storepass:env PW", "keytool -storepass $PW"), check=is_given, scope="low"),
    Row("password", ("/p:",), r"/p:" + _Q + r"(?P<s>[^\s\"'\\;|&]{3,})", ("xfreerdp /u:me /p:«hunter2xyz» /v:host",), ("msbuild /p:Configuration=Release", "xfreerdp /p:$PW"), check=_of_rdp, scope="low"),
    Row("password", ("password",), r"nmcli[ ][^\n|;]{0,200}?[ ]password[ ]" + _Q + r"(?P<s>[^\s\"'\\]{3,})", ("nmcli dev wifi connect home password «hunter2xyz»",), ("nmcli dev wifi connect home password $PW",), check=is_given, scope="low", hint="nmcli "),
    Row("password", ("passwd",), r"htpasswd[ ](?:-[a-zA-Z]{1,8}[ ]){0,3}-[a-zA-Z]*b[a-zA-Z]*[ ]+[^\s]{1,200}[ ]+[^\s]{1,80}[ ]+" + _Q + r"(?P<s>[^\s\"'\\;|&]{3,})", ("htpasswd -b .htpasswd me «hunter2xyz»", "htpasswd -c -B -b f me «hunter2xyz»"), ("htpasswd -c file me", "htpasswd -b f me $PW"), check=is_given, scope="low", hint="htpasswd -"),
    Row("password", ("passwd",), r"(?:echo|printf)[ ](?:-[ne]+[ ])?" + _Q + r"[\w.-]{1,32}:(?P<s>[^\s\"'\\|]{3,128})[\"']?[ ]{0,4}\|[ ]{0,4}(?:sudo[ ])?chpasswd", ("echo 'root:«hunter2xyz»' | chpasswd", "printf 'me:«hunter2xyz»' | chpasswd"), ("echo root:$PW | chpasswd",), check=is_given, scope="low", hint=r"(?:echo|printf) [^\n|]{3,180}\| ?(?:sudo )?chpasswd"),
    Row("password", ("assword:",), r"(?i)assword:?[ *]{0,3}[\"']\)?;?\s{0,8}(?:\w{1,20}\.)?send(?:line)?[ (]\s?[\"'](?P<s>[^\"'\\\n$]{3,128})", ("expect \"Password:\"; send \"«hunter2xyz»\\r\"", "c.expect('password: ')\nc.sendline('«hunter2xyz»')"), ("expect \"Password:\"; send \"$pw\\r\"",), check=is_given, scope="low", hint=r"assword:?[ *]{0,3}[\"']\)?;?\s{0,8}(?:\w{1,20}\.)?send"),
    Row("password", ("<<<",), r"(?:--with-token|--password-stdin|[ ]-S|kinit|login|vncpasswd|cryptsetup)(?:[ ][^\s|;<>]{1,80}){0,6}[ ]?<<<[ ]?" + _Q + r"(?P<s>[^\s\"'\\;|&$]{4,})", ("gh auth login --with-token <<< «zq8f7d6a5b4c3e2f»", "docker login -u me --password-stdin <<< '«hunter2xyz»'"), ("cat <<< hello-world", "gh auth login --with-token <<< $TOKEN"), check=is_given, scope="low"),
    Row("secret", ("user-secrets",), r"user-secrets[ ]set[ ]" + _Q + r"[\w:.-]{1,100}[\"']?[ ]" + _Q + r"(?P<s>[^\s\"'\\;|&]{4,})", ("dotnet user-secrets set 'Api:Key' '«zq8f7d6a5b4c»'",), ("dotnet user-secrets set Api:Key $KEY",), check=is_given, scope="low"),
    Row("password", (" -u ", "--user="), r"(?:[ ]-U[ ]|--user=)" + _Q + r"[\w.\\-]{1,64}%(?P<s>[^\s\"'\\]{3,128})", ("smbclient //h/share -U 'me%«hunter2»'",), ("date -U me%d", "smbclient -U me%$PW"), check=_of_samba, scope="low", hint=r"-u(?: |ser=)[\"']?[\w.\\-]{1,64}%"),
    Row("password", ("convertto-securestring",), r"(?i)ConvertTo-SecureString[ ](?:-String[ ])?[\"'](?P<s>[^\"'\n$]{3,200})[\"']", ("$p = ConvertTo-SecureString '«hunter2xyz»' -AsPlainText -Force", "ConvertTo-SecureString -String \"«hunter2xyz»\" -AsPlainText"), ("ConvertTo-SecureString $p -AsPlainText",), check=is_given, scope="low"),
    Row("password", ("/user:",), r"net use [^\n]{0,120}?/user:[^\s]{1,80}[ ](?P<s>[^\s/*\"'][^\s\"']{2,})", ("net use z: \\\\h\\share /user:me «hunter2»",), ("net use z: \\\\h\\share /user:me *",), check=is_given, scope="low"),
    Row("private-key", ('"d":', '\\"d\\":', "'d':", '"d" :', '"k":', '\\"k\\":', "'k':", '"k" :'), r"(?<![\w])\\{0,3}[\"'](?:d[pq]?|[kpq]|qi)\\{0,3}[\"']\s{0,8}:\s{0,8}\\{0,3}[\"'](?P<s>[A-Za-z0-9_-]{40,2000})", ('{"kty":"EC","crv":"P-256","d":"«' + _T32 + _T32[:11] + '»"}', '{"k": "«' + _T32 + _T32[:11] + '»", "kty": "oct"}'), ('{"d": "' + _T32 + _T32[:11] + '"}', '{"kty": "EC", "x": "' + _T32 + '"}'), check=_of_jwk, scope="low", hint=r"kty[\\\"']"),
    Row("private-key", ("private-lines:",), r"Private-Lines: \d{1,4}" + BREAK + r"{1,40}(?P<s>[A-Za-z0-9+/]{16,}+={0,2}(?>(?:" + BREAK + r"{1,40}[A-Za-z0-9+/]{16,}+={0,2})*)(?:" + BREAK + r"{1,40}[A-Za-z0-9+/]{1,15}={0,2}(?![\w+/-]))?)",
        ("PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 2\n«" + _T32 * 2 + "\n" + _T32 + "»\nPrivate-MAC: 4f9a1c7e", "Private-Lines: 1\\n«" + _T32 + "»\\nPrivate-MAC: x"), ("Private-Lines: 1\nnone",), scope="low"),
)  # fmt: skip


class Form(NamedTuple):
    """One form of assignment that `assignment.py` finds: texts with « » around the secret, and texts to leave alone."""

    name: str
    examples: tuple[str, ...]
    lookalikes: tuple[str, ...]


_T = "zq8f7d6a5b4c3e2f1a0b"

FORMS: tuple[Form, ...] = (
    Form("shell", (f"export API_TOKEN=«{_T}»", "DB_PASSWORD=«hunter2xyz»", "docker run -e MYSQL_ROOT_PASSWORD=«correcthorse» db",
                   "env SECRET_KEY='«a b9c8d7e6f5a4b3»' ./run", "set AWS_SECRET_ACCESS_KEY=«wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEQ»",
                   "SECRET_KEY_BASE=«" + "4f9a1c7e" * 8 + "»", "PGPASSWORD=«s3cret99» psql", "setx API_TOKEN «" + "4f9a1c7e" * 5 + "»", "set -gx AUTH_TOKEN «zq8f7d6a5b4c»", "setenv DB_PASSWORD «Kestrel66751»",
                   "[Environment]::SetEnvironmentVariable('PASSWORD', '«Invoice#2026»', 'User')", "$env:API_KEY = '«" + _T + "»'", "Connect -Password '«Kestrel#2016»'"),
         ("export API_TOKEN=$(pass show api)", "API_TOKEN=${OTHER}", "API_TOKEN=$OTHER", "API_KEY=<PLACEHOLDER>", "PASSWORD_FILE=/run/secrets/pw",
          "DB_PASSWORD_FILE=/run/secrets/db", "PASSWORD=", "TOKEN=your-token-here", "setx PATH C:/Tools", "setenv API_TOKEN $OTHER")),
    Form("yaml", ("password: «hunter2xyz»", "  api_key: «" + _T + "»\n", "db:\n  password: '«correct horse 9a8b7c6d5e4f»'\n", "- name: DB_PASSWORD\n  value: «hunter2xyz»\n"),
         ("password: str", "password: ${DB_PASSWORD}", "password: {{ vault_password }}", "token: Optional[str] = None", "secret: true", "key: some-long-cache-key-name")),
    Form("json", ('{"password": "«hunter2xyz»"}', '{"apiKey":"«' + _T + '»"}', '{\\"token\\": \\"«' + _T + '»\\"}', "{'client_secret': '«" + _T + "»'}"),
         ('{"password": ""}', '{"token": null}', '{"max_tokens": 4096}', '{"type": "password"}', '{"password": {"type": "string"}}')),
    Form("code", ('password = "«hunter2xyz»"', f"const apiKey = '«{_T}»';", f'API_KEY: str = "«{_T}»"', f'os.environ["API_KEY"] = "«{_T}»"', f'client(token="«{_T}»")',
                  f'if token == "«{_T}»":', "'password' => '«hunter2xyz»',"),
         ('apiKey == ""', '"api_key=" + name', "token = get_token()", 'x = os.environ["API_KEY"]', "password=None", "password: str", "token = self.token2", "secret = config.auth.secret", "PrivateKey = rust_openssl.hpke.MLKEM1024P384PrivateKey", "private_key: ed25519.Ed25519PrivateKey,", "x25519_key: x25519.X25519PrivateKey,", "def f(self, key: Ed25519PrivateKey | Ed448PrivateKey) -> None:",
          "password=password", "login(user, password=pw2)", 'f"password={password}"', "apiKey = process.env.API_KEY || ''", "token := ctx.Value(key).(string)",
          "let token: Token2Response;", "password = getpass.getpass('Password: ')", "key=lambda x: x[1]", "if (token !== other_token1) {",
          "the last word of this line is token\n=====================\n", "token\n--------------------", "tokens = tokenizer.encode(text2)", 'help="the API token: see docs"')),
    Form("header", (f"X-Api-Key: «{_T}»", f'curl -H "X-Auth-Token: «{_T}»" https://x', f"Authorization: token «{_T}»", "Authorization: Basic «" + "YWRtaW46aHVudGVyMg==" + "»",
                    f"PRIVATE-TOKEN: «{_T}»", f'"Authorization": "Bearer «{_T}»"', f'headers = {{"Authorization": "«{_T}»"}}'),
         ("Authorization: Bearer <token>", "X-Api-Key: $API_KEY", "Authorization: Basic realm", '"Authorization": f"Bearer {token}"')),
    Form("connection string", ("Server=db;Database=app;User Id=sa;Password=«hunter2xyz»;Encrypt=yes", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=«"
                               + "q7Zk2Xw9Vb4Lm8Rt1Yp6Ns3Hd5Jf0Gc/q7Zk2Xw9Vb4Lm8Rt1Yp6Ns3Hd5Jf0Gcq7Zk2Xw9Vb4Lm8Rt1Yp==" + "»;EndpointSuffix=x",
                               "jdbc:mysql://h/db?user=x&password=«hunter2xyz»&ssl=true"),
         ("Server=db;Password=;Encrypt=yes", "Server=db;Password={pw};")),
    Form("query string", ("https://maps.example.com/v1?key=«zq8f7d6a5b4c3e2f1a0b9c8d»&x=1", f"https://example.com/cb?access_token=«{_T}»&state=1", f"/v1?token=«{_T}»", f"a%3Fapi_key%3D«{_T}»"), ("/v1?token=", "?key=name&code=404", "?key=some-long-setting-name-here", "/v1?page_token=CAUQAA8f7d6a5b4c", "?token=:id")),
    Form("markup", ("<password>«hunter2xyz»</password>", f"<apiKey>«{_T}»</apiKey>", "**Password:** «hunter2xyz»", "Password: `«hunter2xyz»`"), ("<password></password>", "<token>TOKEN</token>", "if key>limit2:")),
    Form("prose", ("the password is «hunter2xyz», keep it", "my password is «Xk9!mQ2#vL7$pR4@zT», thanks", "Das Passwort ist «Xk9mQ2vL7pR4zT8wNa».", "Das Passwort für den Server lautet «Xk9mQ2vL7pR4zT8wNa»",
                   "密码是«Xk9mQ2vL7pR4zT8wNa»", "数据库密码：«Xk9mQ2vL7pR4zT8wNa»。", "the password for the admin account is «Tr0ub4dor&3»", f"the token is {'«' + _T + '»'}", "Kennwort: «Xk9mQ2vL7pR4»",
                   "パスワードは «Xk9mQ2vL7pR4»", "a senha é «Xk9mQ2vL7pR4»", "salasana: «Xk9mQ2vL7pR4zT»", "пароль: «Xk9mQ2vL7pR4»", "şifre: «Xk9mQ2vL7pR4zT»", "el contraseña es «Xk9mQ2vL7pR4»"),
         ("the password is required", "the password is case-sensitive", "the token is base64-encoded", "the password is 8 characters long", "密码是必填的", "Das Passwort ist falsch", "the key is sha256-hashed",
          "a token is invalid", "the secret is out", "password is user@example.com")),
    Form("name and value side by side", (f"define('DB_PASSWORD', '«{_T}»');", f'config.setdefault("api_key", "«{_T}»")', "ENV API_TOKEN «Xq7Canary9Zt4Lw2»", "the password `«Xq7Canary9Zt4Lw2»` works"),
         ("['password', 'username']", 'getattr(self, "token", "default")', "token 4f9a1c7e2b8d03654f9a", "the key Utf8PathBuf12Ext", "password field1, field2 and field3")),
    Form("made-up prefix", (f"the key: «zqx_live_{_T}»", f"ACME_KEY=«{_T}»", f"token: «zqx-{_T}»"), ("cache key: 4f9a1c7e2b8d03654f9a1c7e2b8d03654f9a1c7e", "key: " + "4f9a1c7e-1c7e-4b8d-a365-4f9a1c7e2b8d")),
    Form(".npmrc", (f"//registry.npmjs.org/:_authToken=«{_T}»", "_auth=«YWRtaW46aHVudGVyMmh1bnRlcjI=»"), ("//registry.npmjs.org/:_authToken=${NPM_TOKEN}",)),
)  # fmt: skip
