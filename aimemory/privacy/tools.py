# ruff: noqa: E501 -- one row of the table, one line
"""The table of tools with flags and places of their own for a secret, which elsewhere mean something else (`-t`, `/p`).

Same rows as in `patterns.py`.
"""

import re

from aimemory.privacy.commands import is_no_word, is_token
from aimemory.privacy.contexts import is_given
from aimemory.privacy.patterns import Row
from aimemory.privacy.values import has_digit_and_letter

_W = r"(?P<s>[^\s\"'\\;|&<>$-][^\s\"'\\;|&<>]{3,255})"
"""A secret as one word of a command."""
_Q = r"\\{0,3}[\"']?"
_ARGS = r"(?:[ ][^\s;|&]{1,160}){0,12}?[ ]"
"""Arguments before the one that counts."""
_TOKEN = "zq8f7d6a5b4c3e2f1a0b"


def _made(m: re.Match[str]) -> bool:
    """Given, with a letter and a digit: in texts about such a command a word stands there."""
    return is_given(m) and has_digit_and_letter(m["s"])


TOOLS: tuple[Row, ...] = (
    Row("token", ("glab ", "doctl ", "influx ", "flyctl ", "codecov", "vercel ", "jira login", "buildkite-agent", "circleci "), r"\b(?:glab|doctl|influx|flyctl|codecov|vercel|jira[ ]login|buildkite-agent|circleci)" + _ARGS + r"-t[ ]" + _Q + r"(?P<s>[\w.+/=-]{16,512})",
        ("glab auth login --hostname git.example.com -t «" + _TOKEN + "»", "doctl auth init -t «" + _TOKEN + "»", "influx write -b bucket -t «" + _TOKEN + "==»", "codecov -t «4f9a1c7e-1c7e-4b8d-a365-2b8d03654f9a»"),
        ("glab mr list -t some-title-of-a-request", "influx query -t $INFLUX_TOKEN_OF_MINE", "doctl auth init", "docker build -t " + _TOKEN + " ."), check=is_token, scope="low"),
    Row("token", ("gitlab-runner", "cloudflared", "-a bearer"), r"(?:\bgitlab-runner" + _ARGS + r"-r|\bcloudflared[ ]service[ ]install|\b(?:https?|xh)" + _ARGS + r"-A[ ]bearer" + _ARGS + r"(?:-a|--auth))[ ]" + _Q + r"(?P<s>[\w.+/=-]{16,512})",
        ("gitlab-runner register -r «" + _TOKEN + "» -u https://x", "cloudflared service install «" + _TOKEN * 2 + "»", "http -A bearer -a «" + _TOKEN + "» example.com"),
        ("gitlab-runner register -r $TOKEN_OF_THE_RUNNER", "cloudflared service install"), check=is_token, scope="low"),
    Row("password", (" -a ", " -u ", "proxy-user", "creds", "etcdctl"), r"\b(?:(?:https?|xh)" + _ARGS + r"-a|curl" + _ARGS + r"(?:-U|--proxy-user)|(?:skopeo|podman|buildah|ctr)" + _ARGS + r"--?(?:src-|dest-)?(?:creds|user)|etcdctl" + _ARGS + r"--user)[ =]" + _Q + r"[^\s:\"'\\$]{1,80}:(?P<s>[^\s\"'\\]{2,})",
        ("http -a admin:«hunter2xyz» example.com", "xh GET example.com -a 'me:«hunter2xyz»'", "curl -x proxy -U me:«hunter2xyz» https://x", "curl --proxy-user me:«hunter2xyz» https://x", "skopeo copy --src-creds me:«hunter2xyz» docker://a docker://b", "podman pull --creds=me:«hunter2xyz» img", "etcdctl --user root:«hunter2xyz» get x"),
        ("http -a $USER:$PASS example.com", "podman run --user 1000:1000 img", "curl -U me https://x", "ls -a some:thing"), check=_made, scope="low", hint=r"(?:http|xh|curl|skopeo|podman|buildah|ctr|etcdctl)[^\n]{1,900}:"),
    Row("password", ("passwd",), r"\b(?:openssl[ ]passwd|mkpasswd)(?:[ ]-{1,2}[A-Za-z0-9-]{1,20}(?:[ =](?:sha-?(?:256|512)|md5|yescrypt|bcrypt|sha\d{3}crypt))?){0,4}[ ]" + _Q + r"(?!sha-?\d|md5|\w{0,6}crypt)" + _W,
        ("openssl passwd -6 «Hunter2xyz»", "mkpasswd -m sha-512 «Hunter2xyz»", "mkpasswd --method=sha-512 '«Hunter2xyz»'"), ("openssl passwd -6 -stdin", "mkpasswd -m sha-512", "openssl passwd -1 $PW", "openssl passwd -salt-of-mine"), check=_made, scope="low", hint="openssl passwd |mkpasswd "),
    Row("password", ("qpdf",), r"\bqpdf" + _ARGS + r"--encrypt[ ](?P<s>[^\s$\"'-][^\s]{3,127}(?:[ ][^\s$-][^\s]{1,127})?)[ ](?:40|128|256)\b", ("qpdf --encrypt «hunter2xyz owner2xyz» 256 -- in.pdf out.pdf", "qpdf in.pdf out.pdf --encrypt «hunter2xyz» 256 --"), ("qpdf --encrypt $USER_PW $OWNER_PW 256 -- a b", "qpdf --is-encrypted in.pdf"), check=_made, scope="low"),
    Row("password", ("_pw ", "input_pw"), r"\b(?:user|owner|input)_pw[ ]" + _Q + _W, ("pdftk a.pdf output b.pdf user_pw «hunter2xyz»", "pdftk a.pdf input_pw '«hunter2xyz»' output b.pdf"), ("pdftk a.pdf output b.pdf user_pw PROMPT", "pdftk a.pdf user_pw $PW", "the user_pw argument"), check=_made, scope="low"),
    Row("password", (" -passwd ", " -password ", " -pwd ", " -upw ", " -opw ", "-newpassword "), r"[ ]-(?:passwd|password|newpassword|pwd|[uo]pw)[ ]" + _Q + _W, ("x11vnc -passwd «hunter2xyz»", "influx -username me -password '«hunter2xyz»'", "dsadd user cn=x -pwd «hunter2xyz»", "pdftotext -upw «hunter2xyz» a.pdf"), ("x11vnc -passwd $PW", "tool -password prompt", "tool -pwd some-path"), check=_made, scope="low"),
    Row("password", ("mysqladmin",), r"\bmysqladmin" + _ARGS + r"password[ ]" + _Q + _W, ("mysqladmin -u root password «hunter2xyz»",), ("mysqladmin -u root password", "mysqladmin password $PW"), check=_made, scope="low"),
    Row("password", ("net use ",), r"\bnet use (?:[A-Za-z*]:?[ ])?\\\\[^\s]{1,120}[ ](?P<s>[^\s/*\"'$%<>-][^\s\"'/]{3,127})(?=[ ]/|\s*\Z|\n)", ("net use z: \\\\h\\share «hunter2xyz» /user:me",), ("net use z: \\\\h\\share *",), check=_made, scope="low"),
    Row("password", ("cryptsetup", "veracrypt", "-stdin", "-with-token"), r"(?:echo[ ](?:-[ne]+[ ])?|printf[ ](?:" + _Q + r"%s(?:\\+n)?[\"']?[ ])?)" + _Q + r"(?P<s>[^\s\"'\\|;&$%]{4,256})(?:\\+n)?[\"']?[ ]{0,4}\|[ ]{0,4}(?:sudo[ ](?:-\w{1,4}[ ]){0,3})?(?:cryptsetup|veracrypt|[^\n|;&]{1,120}?-(?:password-stdin|with-token|stdin-password))", ("echo -n «hunter2xyz» | cryptsetup luksOpen /dev/x y -", "printf '%s' «hunter2xyz» | gh auth login --with-token", "printf '«hunter2xyz»\\n' | docker login -u me --password-stdin"), ("echo $PW | cryptsetup luksOpen /dev/x y -", "printf '%s' \"$PW\" | docker login --password-stdin", "printf done | tee log"), check=_made, scope="low", hint=r"(?:echo|printf) [^\n|]{4,290}\| ?[^\n|]{0,160}(?:cryptsetup|veracrypt|stdin|with-token)"),
    Row("secret", ("encrypt_string",), r"\bansible-vault[ ]encrypt_string(?:[ ]--?[\w-]{1,40}(?:=[^\s]{1,80})?(?:[ ][\w./@-]{1,80}(?=[ ]-))?){0,5}[ ]" + _Q + _W, ("ansible-vault encrypt_string «hunter2xyz» --name x", "ansible-vault encrypt_string --ask-vault-pass '«hunter2xyz»'"), ("ansible-vault encrypt_string --stdin-name x", "ansible-vault encrypt_string $SECRET"), check=_made, scope="low"),
    Row("secret", ("rclone config",), r"\brclone[ ]config[ ](?:create|update|password)[ ][^\n|;&]{1,200}?[ ](?:pass|password|token|secret_access_key|client_secret)[ =]" + _Q + _W, ("rclone config create r webdav user me pass «hunter2xyz»", "rclone config update r secret_access_key=«hunter2xyz»"), ("rclone config create r webdav user me pass $PW",), check=_made, scope="low"),
    Row("password", ("password-command",), r"--password-command[ =]" + _Q + r"echo[ ]" + _Q + _W, ("restic --password-command 'echo «hunter2xyz»' backup",), ("restic --password-command 'pass show restic'", "restic --password-command 'echo $PW'"), check=_made, scope="low"),
    Row("password", ("redis-cli",), r"\bredis-cli" + _ARGS + r"(?:(?i:auth)[ ]|(?i:acl setuser)[ ][^\n]{1,80}?>)" + _Q + _W, ("redis-cli AUTH «hunter2xyz»", "redis-cli -h c auth «hunter2xyz»", "redis-cli ACL SETUSER me on '>«hunter2xyz»' ~*"), ("redis-cli AUTH $PW", "redis-cli auth", "redis-cli ACL SETUSER me on >$PW"), check=_made, scope="low"),
    Row("password", ("wpa_passphrase ",), r"\bwpa_passphrase[ ]" + _Q + r"[^\s\"']{1,32}[\"']?[ ]" + _Q + _W, ("wpa_passphrase home «hunter2xyz»",), ("wpa_passphrase home", "wpa_passphrase home $PW"), check=is_no_word, scope="low"),
    Row("password", ("samba-tool",), r"\bsamba-tool[ ]user[ ](?:create|add|setpassword)[ ][^\s]{1,60}[ ](?:--newpassword=)?" + _Q + _W, ("samba-tool user create bob «hunter2xyz»", "samba-tool user setpassword bob --newpassword=«hunter2xyz»"), ("samba-tool user create bob --random-password", "samba-tool user create bob $PW"), check=_made, scope="low"),
    Row("password", ("signtool",), r"\bsigntool(?:\.exe)?" + _ARGS + r"/p[ ]" + _Q + _W, ("signtool sign /f c.pfx /p «hunter2xyz» a.exe",), ("signtool sign /f c.pfx /p %PW% a.exe", "signtool sign /fd sha256 a.exe"), check=_made, scope="low"),
    Row("password", ("snmp",), r"\bsnmp(?:get|walk|bulkwalk|set|getnext|trap|status|table|df|usm)" + _ARGS + r"-A[ ]" + _Q + _W, ("snmpget -v3 -u me -A «hunter2xyz» h oid",), ("snmpwalk -v3 -u me -A $PW h", "snmpwalk -v2c -c public h"), check=_made, scope="low"),
    Row("password", ("snmp",), r"\bsnmp(?:get|walk|bulkwalk|set|getnext|trap|status|table|df|usm)" + _ARGS + r"-X[ ]" + _Q + _W, ("snmpwalk -v3 -u me -A $A -X «hunter2xyz» h oid",), ("snmpwalk -v3 -X $PW h",), check=_made, scope="low"),
    Row("password", ("impacket-", ".py "), r"\b(?:impacket-\w{1,40}|(?:secretsdump|psexec|wmiexec|smbexec|atexec|dcomexec|getuserspns|getnpusers|mssqlclient|smbclient|lookupsid|GetUserSPNs|GetNPUsers)\.py)" + _ARGS + _Q + r"(?:[\w.-]{1,60}/)?[\w.$-]{1,60}:(?P<s>[^\s@/\"'$]{3,128})@", ("impacket-psexec corp/admin:«hunter2xyz»@10.0.0.5", "secretsdump.py -just-dc corp/admin:«hunter2xyz»@dc"), ("impacket-psexec corp/admin@10.0.0.5", "psexec.py corp/admin:$PW@h"), check=is_given, scope="low", hint=r"(?:impacket-|(?:dump|exec|spns|users|client|sid)\.py )[^\n]{0,900}:[^\n]{2,140}@"),
)  # fmt: skip
