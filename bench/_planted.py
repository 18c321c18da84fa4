"""Secrets planted in texts as agents send them: by vendor's form, by context, as key blocks, encoded.

Made from a seed and from `_forms.py` alone; nothing of `aimemory` is imported. In the texts below `@` is where the
secret goes, `#` a harmless word, `§` a `#`, `@%` the secret with an `@` behind it.
"""

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import quote

from _forms import FORMS, NAMELESS, filled


class Planted(NamedTuple):
    """group and form: for the report. secret: what must not be left in `text`."""

    group: str
    form: str
    secret: str
    text: str


WORDS = [
    "billing",
    "shop",
    "atlas",
    "kestrel",
    "orchard",
    "lantern",
    "harbor",
    "copper",
    "meadow",
    "falcon",
    "ticket",
    "invoice",
    "parser",
    "worker",
]

# A vendor's secret says itself what it is: these places say nothing about it.
PLAIN = (
    "try it with @ and tell me what comes back", "@", "2026-11-30T09:12:44Z INFO # got @ from upstream", "    client = Client('@')", "- @\n- #",
    "curl https://api.#.dev/v1/items/@", '{"args": ["#", "@"], "ok": true}', "| # | @ |\n|---|---|", "echo @ >> #.txt", "§ -> @ (copied)", "(@)", "use(`@`);",
    "wörk mit @ bitte", "请用 @ 再试一次", "\x1b[32m@\x1b[0m #",
)  # fmt: skip
# A secret without a form of its own stands beside something that says what it is. PASSWORD and TOKEN become names.
PASSWORD_NAMES = ("password", "passwd", "db_password", "DB_PASSWORD", "MYSQL_ROOT_PASSWORD", "smtpPassword", "PGPASSWORD", "admin_pass", "userPwd", "passphrase", "Password",
                  "SPRING_DATASOURCE_PASSWORD", "redis-password")  # fmt: skip
TOKEN_NAMES = ("api_key", "API_KEY", "apiKey", "access_token", "AUTH_TOKEN", "client_secret", "clientSecret", "SECRET_KEY", "private_key", "signing_secret", "x-api-key",
               "STRIPE_SECRET_KEY", "refreshToken", "webhook_secret", "encryption_key", "JWT_SECRET", "aws_secret_access_key", "SESSION_SECRET", "NPM_TOKEN",
               "service_role_key")  # fmt: skip
ASSIGNMENTS = {
    "shell": ("export NAME=@", "NAME=@", "NAME='@' ./run #", 'NAME="@"', "docker run -e NAME=@ -d #", "docker run --env NAME=@ #", "env NAME=@ make #", "heroku config:set NAME=@",
              "NAME=@ § of #", "declare -x NAME=\"@\"", "setenv NAME @", "set -gx NAME @", "kubectl create secret generic # --from-literal=NAME=@", "helm upgrade # ./chart --set #.NAME=@"),
    "json": ('{"NAME": "@"}', '{"#": 1, "NAME":"@", "b": 2}', '  "NAME": "@",', '{\\"NAME\\": \\"@\\"}', '{"name": "NAME", "value": "@"}', '{"Key":"NAME","Value":"@"}'),
    "yaml": ("NAME: @", "  NAME: '@'", '#:\n  NAME: "@"\n', "- name: NAME\n  value: @", '- name: NAME\n  value: "@"', "NAME: @  § of #", "environment:\n  - NAME=@"),
    "toml and ini": ('NAME = "@"', "NAME = '@'", "NAME=@", "[#]\nNAME = @", "NAME: @", "#.NAME=@"),
    "xml": ("<NAME>@</NAME>", '<add key="NAME" value="@"/>', '<# NAME="@" />', '<property name="NAME" value="@"/>', '<input type="hidden" name="NAME" value="@">',
            '<entry key="NAME">@</entry>', "<string name=\"NAME\">@</string>"),
    "code": ('NAME = "@"', "const NAME = '@';", 'let NAME: string = "@";', "NAME := `@`", 'NAME => "@",', "'NAME' => '@',", 'String NAME = "@";', 'os.environ["NAME"] = "@"', "process.env.NAME = '@'",
             'connect(host="#", NAME="@")', "private static final String NAME = \"@\";", '§define NAME "@"', "self.NAME = '@'", 'if NAME == "@":', "$NAME = '@';", 'config.set("NAME", "@")', "define('NAME', '@');", 'val NAME = "@"', "{ NAME: '@' }", ".NAME(\"@\")", 'assert NAME == "@"'),
    "powershell": ("$env:NAME = '@'", '$env:NAME="@"', '$NAME = "@"', "[Environment]::SetEnvironmentVariable('NAME', '@', 'User')", "-NAME '@'",
                   "$NAME = ConvertTo-SecureString '@' -AsPlainText -Force"),
    "windows": ("set NAME=@", 'set "NAME=@"', "setx NAME @", 'setx NAME "@" /M', "SET NAME=@&& npm start"),
}  # fmt: skip
HEADERS = (
    "Authorization: Bearer @", "authorization: bearer @", "Authorization: token @", "Authorization: ApiKey @", "Authorization: @", "X-Api-Key: @", "x-api-key: @", "X-Auth-Token: @", "PRIVATE-TOKEN: @",
    "X-Vault-Token: @", "api-key: @", "Ocp-Apim-Subscription-Key: @", "X-GitHub-Token: @", "Proxy-Authorization: Bearer @", "X-Amz-Security-Token: @", "apikey: @", "DD-API-KEY: @", "X-Shopify-Access-Token: @",
    'curl -H "Authorization: Bearer @" https://api.#.dev', "curl -H 'X-Api-Key: @' https://api.#.dev", 'headers={"Authorization": "Bearer @"}', 'headers: { "X-Api-Key": "@" }',
    "headers.set('Authorization', 'Bearer @')", 'req.Header.Set("X-Api-Key", "@")', "> Authorization: Bearer @", "< Set-Cookie: session=@; Path=/; HttpOnly", "Cookie: #=1; session=@",
    "Set-Cookie: sid=@; Secure", 'curl -b "session=@" https://#.dev', "document.cookie = 'auth=@; path=/'", "X-CSRF-Token: @", "http GET api.#.dev X-Auth-Token:@", 'wget --header="Authorization: Bearer @" https://#.dev',
    '-H "Private-Token: @"', "grpcurl -H 'authorization: Bearer @' #:443",
)  # fmt: skip
URLS_TOKEN = (
    "https://api.#.dev/v1?token=@", "https://api.#.dev/v1?access_token=@&x=1", "https://#.dev/cb?api_key=@", "https://#.dev/cb?apikey=@&y=2", "https://#.dev/dl?x=1&auth=@", "https://#.blob.core.windows.net/c/f?sv=2022-11-02&se=2027-01-01&sr=b&sp=r&sig=@",
    "https://#.s3.amazonaws.com/o?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=@", "https://storage.googleapis.com/#/o?X-Goog-Signature=@", "https://@%git.#.dev/team/#.git", "https://oauth2:@%git.#.dev/#.git", "https://#.dev/?client_secret=@&grant_type=x",
    "wss://#.dev/socket?token=@", "https://#.dev/reset?reset_token=@", "https://#.dev/#?key=@", "git remote add origin https://x-access-token:@%github.com/#/#.git", "https://#.dev/login§access_token=@&expires_in=3600",
)  # fmt: skip
URLS_PASSWORD = (
    "postgres://app:@%db.#.dev:5432/app", "postgresql+asyncpg://app:@%localhost/app", "mysql://root:@%127.0.0.1:3306/#", "mongodb+srv://root:@%cluster0.#.mongodb.net/?retryWrites=true", "amqp://guest:@%mq.#.dev:5672/%2f",
    "redis://:@%cache.#.dev:6379/0", "rediss://default:@%cache.#.dev:6380", "https://#:@%#.dev/path", "ftp://anna:@%ftp.#.dev", "smtp://mail%40#.dev:@%smtp.#.dev:587", "http://user:@%proxy.#.dev:3128", "sqlserver://sa:@%db.#.dev?database=#",
)  # fmt: skip
CONNECTIONS = (
    "Server=tcp:db.#.dev,1433;Database=#;User ID=sa;Password=@;Encrypt=True;", "Data Source=db;Initial Catalog=#;User Id=app;Pwd=@;", "Host=db;Username=app;Password=@;Database=#", "jdbc:postgresql://db/#?user=app&password=@&ssl=true",
    "jdbc:mysql://db:3306/#?user=root&password=@", "jdbc:sqlserver://db:1433;databaseName=#;user=sa;password=@;", "host=db user=app password=@ dbname=#", "dsn = 'host=db user=app password=@ sslmode=require'", "DRIVER={ODBC Driver 18};SERVER=db;UID=sa;PWD=@",
    'spring.datasource.password=@', "amqp: user=guest password=@ vhost=/",
)  # fmt: skip
CONNECTIONS_TOKEN = ("DefaultEndpointsProtocol=https;AccountName=#;AccountKey=@;EndpointSuffix=core.windows.net", "Endpoint=sb://#.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=@", "HostName=#.azure-devices.net;DeviceId=d;SharedAccessKey=@",
                     "AccountEndpoint=https://#.documents.azure.com:443/;AccountKey=@;", "SharedAccessSignature sr=#&sig=@&se=1764500000&skn=Root")  # fmt: skip
FLAGS_PASSWORD = (
    "curl -u admin:@ https://#.dev", "curl --user 'admin:@' https://#.dev", "mysql -u root -p@ #", "mysqldump -uroot -p'@' #", "mysql --password=@ #", "PGPASSWORD=@ psql -h db -U app", "psql 'postgresql://app:@%db/#'", "redis-cli -a @ ping", "redis-cli -h # --pass @ info",
    "docker login -u me -p @ registry.#.dev", "docker login --username me --password @", "sshpass -p @ ssh root.#.dev", "sshpass -p '@' scp # h:", "openssl rsa -in k.pem -passin pass:@ -out o.pem", "openssl enc -aes-256-cbc -k @ -in #", "openssl pkcs12 -export -passout pass:@ -in c.pem",
    "wget --user=me --password=@ https://#.dev", "mongo -u root -p @ #", "mongosh --username root --password @", "ldapsearch -x -D cn=admin -w @ -b dc=#", "echo @ | sudo -S apt update", "echo '@' | docker login -u me --password-stdin", "gpg --batch --passphrase @ -d #.gpg",
    "7z x -p@ #.7z", "zip -P @ #.zip *", "unzip -P @ #.zip", "rsync --password @ #", "keytool -genkey -storepass @ -keystore #.jks", "smbclient //h/# -U 'me%%@'", "mariadb -u app -p@ #", "svn co --username me --password @ https://#.dev",
    "xfreerdp /u:me /p:@ /v:#.dev", "ansible-playbook x.yml -e ansible_password=@", "ansible-playbook x.yml --extra-vars 'db_password=@'", "vault kv put secret/# password=@", "nmcli dev wifi connect # password @", "htpasswd -b .htpasswd me @",
    "machine #.dev login me password @", "sqlplus app/@%#", "expect \"Password:\"; send \"@\\r\"", "echo 'root:@' | chpasswd", "sqlcmd -S db -U sa -P @ -Q 'select 1'", "pg_dump --dbname=postgresql://app:@%db/#",
)  # fmt: skip
FLAGS_TOKEN = (
    "gh auth login --with-token <<< @", "echo @ | gh auth login --with-token", "kubectl --token=@ get pods", "kubectl --token @ get pods", "helm install # ./c --set image.#=1,api.token=@", "aws configure set aws_secret_access_key @", "aws configure set aws_session_token @", "npm config set //registry.npmjs.org/:_authToken @",
    "//registry.npmjs.org/:_authToken=@", "vercel deploy --token @", "netlify deploy --auth @", "twine upload -u __token__ -p @ dist/*", "doppler run --token @ -- #", "sentry-cli --auth-token @ info", "tool --api-key @ run", "tool --api-key=@ run", "tool --secret-key '@'",
    "terraform apply -var 'db_token=@'", "terraform apply -var=\"api_key=@\"", "cargo login @", "cargo publish --token @", "railway up --token @", "stripe listen --api-key @", "curl -F token=@ https://#.dev", "curl -d 'client_secret=@&grant_type=client_credentials' https://#.dev",
    "oc login --token=@ --server=https://#.dev", "vault login @", "vault login token=@", "glab auth login --token @", "snyk auth @", "pip config set global.index-url https://__token__:@%pypi.#.dev/simple", "hf auth login --token @", "argocd login # --auth-token @", "rclone config create # s3 secret_access_key=@", "dotnet user-secrets set 'Api:Key' '@'",
    "dotnet nuget push a.nupkg -k @ -s #", "cloudflared tunnel run --token @", "git -c http.extraHeader='Authorization: Bearer @' fetch", "git config --global http.extraheader 'PRIVATE-TOKEN: @'", "sonar-scanner -Dsonar.token=@", "mvn deploy -DapiToken=@",
)  # fmt: skip
PROSE = (
    "the password is @", "The password for the admin account is @, please keep it", "password: @", "Password is: @", "my password is @ and it does not work", "log in as anna with password @", "pw: @", "the root password was @", "use the password `@`", "passphrase: @",
    "das Passwort ist @", "Das Passwort für den Server lautet @.", "Passwort: @", "Kennwort: @", "mein Passwort: @", "Zugangsdaten: anna, Passwort @", "密码是@", "密码：@", "数据库密码是 @。", "密碼：@", "口令是 @", "root密码为@", "le mot de passe est @", "mot de passe : @", "la contraseña es @", "contraseña: @",
    "la password è @", "a senha é @", "senha: @", "het wachtwoord is @", "wachtwoord: @", "hasło: @", "пароль: @", "пароль от базы: @", "パスワードは @ です", "パスワード：@", "비밀번호는 @ 입니다", "비밀번호: @", "heslo: @", "şifre: @", "lösenord: @", "mật khẩu: @", "पासवर्ड: @", "كلمة المرور: @", "kata sandi: @",
    "adgangskode: @", "salasana: @", "jelszó: @", "parola: @", "passord: @", "clave: @",
)  # fmt: skip
PROSE_TOKEN = ("the token is @", "my api key is @", "here is the API key: @", "token: @", "API-Schlüssel: @", "der Token lautet @", "密钥是 @", "令牌：@", "secret: @", "the key to use is @", "APIキーは @", "clé API : @", "clave de API: @", "chave de API: @", "ключ API: @")  # fmt: skip


def planted(seed: int, per_template: int = 1) -> Iterator[Planted]:
    """All planted secrets of a seed, in a fixed order."""
    rng = random.Random(seed)

    def fill(text: str, secret: str) -> str:
        text = text.replace("@", "\x00").replace("%%", "\x01").replace("\x00%", "\x00\x02")
        while "#" in text:
            text = text.replace("#", rng.choice(WORDS), 1)
        return text.replace("§", "#").replace("\x00\x02", "\x00@").replace("\x01", "%").replace("\x00", secret)

    for _ in range(per_template):
        for vendor, form in FORMS:
            secret = filled(form, rng)
            if vendor in NAMELESS:
                name = vendor.upper().replace(" ", "_")
                places: tuple[str, ...] = (f"export {name}_API_KEY=@", f'{name.lower()}_token: "@"')
            else:
                places = tuple(rng.sample(PLAIN, 3))
            for place in places:
                yield Planted("vendor", vendor, secret, fill(place, secret))
        for syntax, texts in ASSIGNMENTS.items():
            for text in texts:
                for names, make in ((PASSWORD_NAMES, password), (TOKEN_NAMES, token)):
                    secret = make(rng)
                    if not fits(text, secret):
                        secret = rng.choice(PLAIN_PASSWORDS)(rng)
                    yield Planted(
                        f"assignment: {syntax}", text, secret, fill(text.replace("NAME", rng.choice(names)), secret)
                    )
        for group, texts, make in (
            ("header", HEADERS, token), ("url", URLS_TOKEN, url_token), ("url", URLS_PASSWORD, url_password), ("connection string", CONNECTIONS, plain_password),
            ("connection string", CONNECTIONS_TOKEN, account_key), ("flag", FLAGS_PASSWORD, plain_password), ("flag", FLAGS_TOKEN, token), ("prose", PROSE, prose_password), ("prose", PROSE_TOKEN, token),
        ):  # fmt: skip
            for text in texts:
                secret = make(rng)
                yield Planted(group, text, secret, fill(text, secret))
        yield from key_blocks(rng)
        yield from encoded(rng, fill)


# -- secrets -----------------------------------------------------------------------------------------------------------


def _from(alphabet: str, size: int, rng: random.Random) -> str:
    return "".join(rng.choices(alphabet, k=size))


ALNUM = string.ascii_letters + string.digits
SIGNS = "!#%^*?_-+."


def words_password(rng: random.Random) -> str:
    """As people make them: words, a number, perhaps a sign."""
    one, other = rng.choice(WORDS), rng.choice(WORDS)
    return rng.choice((f"{one.title()}{rng.randrange(10, 9999)}!", f"{one}-{other}-{rng.randrange(10, 99)}-{rng.choice(WORDS)}", f"{one}{rng.randrange(100, 99999)}{other[:3]}", f"{one.title()}#{rng.randrange(1990, 2030)}"))  # fmt: skip


def mixed_password(rng: random.Random) -> str:
    """16 to 23 characters of all kinds, without what a shell or quotes would take."""
    return "".join((_from(string.ascii_letters, 2, rng), _from(ALNUM + SIGNS, rng.randrange(13, 20), rng), "7k"))


def opaque_password(rng: random.Random) -> str:
    return "Q" + _from(ALNUM, rng.randrange(10, 22), rng) + "8v"


PLAIN_PASSWORDS: tuple[Callable[[random.Random], str], ...] = (opaque_password,)


def password(rng: random.Random) -> str:
    return rng.choice((words_password, mixed_password, opaque_password))(rng)


def plain_password(rng: random.Random) -> str:
    """Letters, digits and hyphens: goes unquoted into any command."""
    return rng.choice((opaque_password(rng), f"{rng.choice(WORDS)}-{rng.randrange(100, 9999)}-{rng.choice(WORDS).title()}", f"{rng.choice(WORDS).title()}{rng.randrange(100, 99999)}"))  # fmt: skip


def url_password(rng: random.Random) -> str:
    return quote(rng.choice((words_password, mixed_password, opaque_password))(rng), safe="")


def prose_password(rng: random.Random) -> str:
    return rng.choice((words_password, opaque_password, mixed_password))(rng).rstrip(".!?")


def token(rng: random.Random) -> str:
    """As services make them: hexadecimal, base64url, alphanumeric, with a prefix that nobody knows."""
    return rng.choice((
        _from("0123456789abcdef", rng.choice((32, 40, 64)), rng), "A" + _from(ALNUM + "-_", rng.choice((22, 32, 43)), rng) + "9b", _from(ALNUM, rng.choice((24, 32, 40, 64)), rng) + "4",
        f"zqx_live_{_from(ALNUM, 28, rng)}", f"kst-{_from(string.ascii_lowercase + string.digits, 32, rng)}",
    ))  # fmt: skip


def url_token(rng: random.Random) -> str:
    return rng.choice(
        (_from("0123456789abcdef", 40, rng), "A" + _from(ALNUM + "-_", 32, rng) + "9b", _from(ALNUM, 43, rng) + "4%3D")
    )


def account_key(rng: random.Random) -> str:
    return base64.b64encode(rng.randbytes(rng.choice((32, 64)))).decode()


def fits(text: str, secret: str) -> bool:
    """Whether the secret can stand there unquoted, as a person would have to write it."""
    quoted = any(mark in text for mark in ('"@', "'@", "`@", ">@<"))
    return quoted or not set(secret) & set("#&;!*?^% ")


# -- key blocks and encoded forms --------------------------------------------------------------------------------------


def armour(label: str, rng: random.Random, lines: int = 12, dashes: str = "-----") -> tuple[str, str]:
    """An armoured block, and a line of its body."""
    body = [base64.b64encode(rng.randbytes(48)).decode() for _ in range(lines)]
    return "\n".join(
        [
            f"{dashes}BEGIN {label}{dashes}",
            *body,
            base64.b64encode(rng.randbytes(20)).decode(),
            f"{dashes}END {label}{dashes}",
        ]
    ), body[lines // 2]


def key_blocks(rng: random.Random) -> Iterator[Planted]:
    for label in (
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "DSA PRIVATE KEY",
        "PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
        "ANY PRIVATE KEY",
    ):
        block, line = armour(label, rng)
        for how, text in {
            "as it is": block, "escaped": json.dumps({"key": block}), "indented": block.replace("\n", "\n      "), "in a diff": "+" + block.replace("\n", "\n+"), "numbered": "\n".join(f"{n:6}\t{row}" for n, row in enumerate(block.split("\n"), 1)),
            "in an assignment": f'KEY="{block}"', "head only": "\n".join(block.split("\n")[:9]), "tail only": "\n".join(block.split("\n")[4:]), "carriage returns": block.replace("\n", "\r\n"), "one line": block.replace("\n", " "),
            "encoded": base64.b64encode(block.encode()).decode(),
        }.items():  # fmt: skip
            yield Planted("key block", f"{label}, {how}", line if how != "encoded" else text[200:264], text)
    ssh2, line = armour("SSH2 ENCRYPTED PRIVATE KEY", rng, dashes="---- ")
    yield Planted("key block", "SSH2", line, ssh2.replace("KEY---- ", "KEY ----"))
    lines = [base64.b64encode(rng.randbytes(48)).decode() for _ in range(14)]
    putty = "\n".join(
        [
            "PuTTY-User-Key-File-3: ssh-ed25519",
            "Encryption: none",
            "Comment: me@host",
            "Public-Lines: 2",
            *lines[:2],
            "Private-Lines: 10",
            *lines[2:12],
            "Private-MAC: " + rng.randbytes(32).hex(),
        ]
    )
    yield Planted("key block", "PuTTY", lines[6], putty)
    yield Planted("key block", "PuTTY in a diff", lines[6], "+" + putty.replace("\n", "\n+"))
    wire = base64.b64encode(rng.randbytes(32)).decode()
    yield Planted("key block", "WireGuard", wire, f"[Interface]\nPrivateKey = {wire}\nAddress = 10.0.0.2/32\n")
    yield Planted("key block", "WireGuard preshared", wire, f"[Peer]\nPresharedKey = {wire}\nEndpoint = h:51820\n")
    jwk = _from(ALNUM + "-_", 43, rng)
    yield Planted(
        "key block", "JWK", jwk, json.dumps({"kty": "EC", "crv": "P-256", "x": _from(ALNUM, 43, rng), "d": jwk})
    )
    age = "AGE-SECRET-KEY-1" + _from("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58, rng)
    yield Planted("key block", "age", age, f"# created: 2026-11-30T09:00:00Z\n# public key: age1xyz\n{age}\n")
    service = json.dumps(
        {
            "type": "service_account",
            "project_id": "p",
            "private_key_id": rng.randbytes(20).hex(),
            "private_key": armour("PRIVATE KEY", rng)[0],
        }
    )
    yield Planted("key block", "service account file", json.loads(service)["private_key"].split("\n")[5], service)
    yield Planted(
        "key block",
        "service account file in a string",
        json.loads(service)["private_key"].split("\n")[5],
        json.dumps({"stdout": service}),
    )


def encoded(rng: random.Random, fill: Callable[[str, str], str]) -> Iterator[Planted]:
    """Secrets behind an encoding. What must not be left is the encoded text too."""
    named = [form for vendor, form in FORMS if vendor not in NAMELESS]
    for _ in range(12):
        raw = filled(rng.choice(named), rng)
        whole = base64.b64encode(raw.encode()).decode()
        yield Planted("encoded", "base64 of a vendor's", whole, fill("echo @ | base64 -d", whole))
        env = f"DB_PASSWORD={mixed_password(rng)}\nAPI_TOKEN={raw}\n"
        whole = base64.b64encode(env.encode()).decode()
        yield Planted("encoded", "base64 of an .env file", whole, fill("  config: @", whole))
        yield Planted(
            "encoded", "hexadecimal of a vendor's", raw.encode().hex(), fill("xxd -r -p <<< @", raw.encode().hex())
        )
        whole = "".join(f"%{b:02X}" for b in raw.encode())
        yield Planted("encoded", "every byte percent-encoded", whole, fill("GET /x?q=@ HTTP/1.1", whole))
        whole = "".join(f"\\u{ord(c):04x}" for c in raw)
        yield Planted("encoded", "every character a \\u escape", whole, fill('x = "@"', whole))
        whole = "".join(f"\\x{b:02x}" for b in raw.encode())
        yield Planted("encoded", "every byte a \\x escape", whole, fill('x = "@"', whole))
    for _ in range(8):
        user, secret = rng.choice(WORDS), mixed_password(rng)
        basic = base64.b64encode(f"{user}:{secret}".encode()).decode()
        yield Planted("encoded", "Basic header", basic, f"Authorization: Basic {basic}")
        yield Planted("encoded", "Basic proxy header", basic, f"Proxy-Authorization: Basic {basic}")
        yield Planted("encoded", "docker config.json", basic, json.dumps({"auths": {"ghcr.io": {"auth": basic}}}))
        yield Planted("encoded", "npmrc _auth", basic, f"_auth={basic}")
        kube = base64.b64encode(secret.encode()).decode()
        yield Planted("encoded", "Kubernetes Secret", kube, f"kind: Secret\ndata:\n  password: {kube}\n")
        url = quote(f"postgres://app:{opaque_password(rng)}@db.{user}.dev:5432/app", safe="")
        yield Planted("encoded", "percent-encoded URL", url[20:40], f"https://{user}.dev/open?dsn={url}")
        inner = json.dumps({"user": user, "password": secret})
        yield Planted("encoded", "JSON in JSON", secret, json.dumps({"body": inner}))
        yield Planted("encoded", "JSON in JSON in JSON", secret, json.dumps({"body": json.dumps({"body": inner})}))
        yield Planted(
            "encoded",
            "JSON percent-encoded",
            quote(secret, safe=""),
            f"https://{user}.dev/?state={quote(inner, safe='')}",
        )
        yield Planted("encoded", "entities in markup", secret, f"<value>password=&quot;{secret}&quot;</value>")
