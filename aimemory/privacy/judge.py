"""Is this value, standing beside this name, a secret? The judgement that text assignments and JSON entries share."""

import re
from typing import NamedTuple

from aimemory.privacy.values import (
    has_digit_and_letter,
    is_basic_auth,
    is_blank,
    is_chopped,
    is_code,
    is_credentials,
    is_hash,
    is_mixed,
    is_path,
    is_random,
    is_template,
    is_type_name,
    is_variable,
)

WORDS = (
    r"(?:passw(?:or)?ds?|passphrase|passcode|passwort|kennwort|passe(?![a-z])|contrase(?:ña|na)|hasło|парол(?:ь|я|ем)"
    r"|passord|wachtwoord|adgangskode|lösenord|jelszó|salasana|heslo|parola|şifre|senha|kata sandi|mật khẩu"
    r"|(?<![a-z])clave(?! (?:de |del )?(?:la )?api)|पासवर्ड|كلمة المرور|كلمة السر|סיסמה|รหัสผ่าน|κωδικός"
    r"|パスワード|비밀번호|密码|密碼|口令|(?:(?<![a-z])|(?<=db|my)|(?<=ftp)|(?<=user|smtp|mail|root))pass"
    r"|(?<![a-z])pw|pwd"
    r"|(?:clave|chave|clé|cle|ключ)(?: |-)(?:(?:de|da|d'|du|к)(?: |-)?)?(?:la )?api"
    r"|api(?: |-)?(?:schlüssel|キー|ключ|nøkkel|nyckel|sleutel|密钥|金鑰)"
    r"|secret|token|credentials?|authorization|密钥|密鑰|令牌|key|auth)"
)
"""Words that announce a secret, as a pattern over lowered text."""

STEMS = (
    r"p(?:ass|w|arola)",
    r"k(?:ey|ennw|ata s|en(?<=token)|ode(?<=adgangskode))",
    r"c(?:red|ret(?<=secret)|htwoord)",
    r"uth(?<=auth)",
)
LOOSE_STEMS = (r"c(?:lave|have(?= )|ontrase)",)
FOREIGN_STEMS = (
    "senha", "heslo", "salasana", "hasło", "парол", "ключ", "lösenord", "jelszó", "şifre", "mật", "पास", "كلمة", "סיס",
    "รหัส", "κωδ", "clé ", r"api(?=.?(?:sch|キ|кл|n|sl|密|金))", "パス", "비밀", "密", "口令", "令牌",
)  # fmt: skip
STEM_OFFSETS = {"ken": 2, "cret": 2, "uth": 1, "kode": 7, "chtwoord": 2}
"""How to find the words quickly: by few, rare letters, and how far before them the word begins. Of `LOOSE_STEMS` the
rest of the word may hold spaces or other letters than ASCII. `FOREIGN_STEMS` are for texts with other letters than
ASCII, or with a word of `RARE_WORDS`."""
RARE_WORDS = ("senha", "heslo", "salasana")
"""Words in ASCII that have none of the letters by which the others are found."""
RARE_STEMS = (r"h(?:a(?<=senha)|eslo)", r"l(?<=sal)asana")
"""The same, by rarer letters."""

SUFFIX = (
    r"(?:[_-]?(?:\d{1,2}|prod(?:uction)?|dev(?:elopment)?|test|staging|live|base|data|value|string|backup|old|new|main"
    r"|plain|raw|b64|base64|default))?"
)
"""What may follow such a word in a name without changing that it names a secret (`SECRET_KEY_BASE`)."""

_NAME_END = rf"({WORDS}){SUFFIX}\Z"
_NEED_MORE = frozenset(
    ("secret", "token", "credential", "credentials", "authorization", "密钥", "密鑰", "令牌", "key", "auth")
)
"""Words that announce something less certain than a password."""
_SECRET_KEYS = (
    "apikey", "appkey", "accesskey", "secretkey", "privatekey", "authkey", "encryptionkey", "signingkey", "masterkey",
    "accountkey", "servicekey", "licensekey", "subscriptionkey", "storagekey", "sharedkey", "applicationkey",
    "adminkey", "deploykey", "webhookkey", "hmackey", "jwtkey", "ingestkey", "writekey", "integrationkey",
    "consumerkey", "rootkey",
    "functionkey", "servicerolekey", "cryptkey", "sessionkey", "cookiekey", "clientkey",
)  # fmt: skip
_OPEN_NAMES = (
    "publickey", "primarykey", "foreignkey", "cachekey", "sortkey", "partitionkey", "hostkey", "publishablekey",
    "sitekey", "pagetoken", "nexttoken", "continuationtoken", "cancellationtoken", "canceltoken", "padtoken",
    "eostoken", "bostoken", "unktoken", "masktoken", "septoken", "clstoken", "synctoken",
)  # fmt: skip
_SCHEME = r"(?i)(bearer|basic|token|digest|api-?key|bot|genie-?key|negotiate|dpop)(?:\s{1,4}|\Z)"
_PROMISING = r"[0-9]|[A-Za-z]{16}"
_TYPE_END = (
    r"(?:Str(?:ing)?|Bytes?|Type|Field|Input|Value|Object|Option|Password|Key|Token|Secret|Hash|Text|Data|Buf(?:fer)?|Array"
    r"|Int|Id|Name|Ext|Path|Box|View|Error|Config|Params?|Settings?|Provider|Manager|Handler|Service|Store)\d{0,3}\Z"
)
_JUDGED_MOST = 4096
_PASSWORD_SIGN = r"[!#%^*+?~]"
_ADDRESS = r"@|://|[()\[\]{}<>=,;]"
_INNER_SIGN = r"\w[@#$%^&*!+~?=]+\w"


class Place(NamedTuple):
    """Where a value stands.

    kind: what the placeholder will say. rank: 3 a password, 2 a token, secret or key, 1 something called key or auth.
    header: an Authorization header. env: an upper-case name with `=` directly behind it, as in shells.
    literal: the value is the rest of its line, or follows `=` directly, so that it is hardly a variable.
    prose: introduced by a word (`is`) and not by a sign. quoted: stands in quotes.
    loose: only stands behind the name, so that nothing but its look tells.
    """

    kind: str
    rank: int
    header: bool = False
    env: bool = False
    literal: bool = False
    prose: bool = False
    quoted: bool = False
    loose: bool = False


def place_of(name: str) -> Place | None:
    """The place that a name announces, or None where it announces no secret. Any case and style of joining words."""
    low = name.lower()
    found = re.search(_NAME_END, low)
    if found is None:
        return None
    word = found[1]
    if "api" in word:
        return Place("api-key", 2)
    if word not in _NEED_MORE:
        return Place("password", 3)
    joined = re.sub(r"[^a-z0-9]", "", low[: found.end(1)])
    if joined.endswith(_OPEN_NAMES):
        return None
    if word in ("key", "auth"):
        return Place("api-key", 2) if joined.endswith(_SECRET_KEYS) else Place("key", 1)
    header = word == "authorization"
    kind = "authorization" if header else "secret" if word in ("secret", "密钥", "密鑰") else "token"
    return Place(kind, 2, header=header)


def is_scheme(word: str) -> bool:
    """A word that introduces the credential in an Authorization header."""
    found = re.match(_SCHEME, word)
    return found is not None and found.end() == len(word)


def secret_part(value: str, place: Place, after: str = "") -> tuple[int, int] | None:
    """Start and end of the secret within `value`, or None. `after` is the text behind an unquoted value."""
    scheme = re.match(_SCHEME, value) if place.rank == 2 else None
    start, end = scheme.end() if scheme else 0, len(value)
    value = value[start : start + _JUDGED_MOST]
    if hopeless(value, place) or is_blank(value) or is_template(value):
        return None
    if scheme and scheme[1].lower() == "basic":
        secret = is_basic_auth(value)
    elif scheme and place.header and len(value) >= 16 and not _spaced(value):
        secret = not is_code(value, after)
    else:
        secret = is_secret(value, place, after)
    return (start, end) if secret else None


def hopeless(value: str, place: Place) -> bool:
    """Seen at a glance: without a digit or many letters in a row it is no token. Most values in programs end here."""
    return place.rank < 3 and not (place.env or place.header) and re.search(_PROMISING, value) is None


def is_secret(value: str, place: Place, after: str) -> bool:
    if place.loose:
        if place.rank == 3 and _as_people_make_them(value, place):
            return True
        least = 8 if place.quoted and place.rank > 1 else 12
        opaque = is_mixed(value) if least == 8 else is_random(value, least)
        named = place.quoted and place.rank > 1  # beside such a name a hexadecimal number is no digest
        return (
            opaque and len(value) >= least and not ((is_hash(value) and not named) or is_path(value) or _spaced(value))
        )
    if place.rank == 1:
        if is_credentials(value):
            return True
        if not place.quoted and is_code(value, after):
            return False
        least = 16 if place.env or _has_all_cases(value) else 20
        opaque = is_random(value, least) and (place.env or not is_hash(value))
        return opaque and not is_path(value) and not _spaced(value)
    if is_path(value):
        return False
    if place.quoted:
        return _quoted(value, place)
    if place.prose:
        return _in_prose(value, place)
    if place.env:
        if place.rank == 2 and value.isdigit() and len(value) < 12:
            return False
        return len(value) >= (4 if place.rank == 3 else 6) and not (
            value.isupper() and "_" in value and value.replace("_", "").isalpha()
        )
    return _bare(value, place, after)


def _as_people_make_them(value: str, place: Place) -> bool:
    """Letters of both cases, a digit, and a sign that stands in no name (`Kestrel#2016`)."""
    return (
        len(value) >= (8 if place.quoted else 10)
        and _has_all_cases(value)
        and re.search(_PASSWORD_SIGN, value) is not None
        and not (is_path(value) or _spaced(value) or re.search(_ADDRESS, value))
    )


def _has_all_cases(value: str) -> bool:
    return has_digit_and_letter(value) and not (value.islower() or value.isupper())


def _names_a_type(value: str) -> bool:
    return is_type_name(value) and re.search(_TYPE_END, value) is not None


def _spaced(value: str) -> bool:
    return any(c.isspace() for c in value)


def _quoted(value: str, place: Place) -> bool:
    if _spaced(value):
        return any(is_random(word, 12) for word in value.split())
    if place.rank == 3:
        names_itself = (
            value.replace("_", "").replace("-", "").replace(".", "").isalpha() and place_of(value) is not None
        )
        return not names_itself and (len(value) >= 6 or any(c.isdigit() for c in value))
    least = 6 if place.kind == "secret" else 8
    return len(value) >= least and not value.startswith(("sha", "SHA")) and (is_mixed(value) or is_random(value, 20))


def _in_prose(value: str, place: Place) -> bool:
    if (
        place.rank == 3
        and len(value) >= 6
        and "://" not in value
        and not re.fullmatch(r"[\w.+-]+@[\w-]+\.[\w.]+", value)
    ):
        if _names_a_type(value):
            return False
        single = has_digit_and_letter(value) and (value.isalnum() or value.count("-") >= 3)
        return single or is_mixed(value) or re.search(_INNER_SIGN, value) is not None
    return len(value) >= 8 and is_mixed(value) and is_random(value, 8)


def _bare(value: str, place: Place, after: str) -> bool:
    if is_code(value, after):
        return False
    closed = after.startswith((")", ",", "]", "}"))
    if is_variable(value) or is_type_name(value):
        plain = value.isalnum() and has_digit_and_letter(value) and not place_of(value.rstrip("0123456789"))
        plain = plain or (value.isalpha() and len(value) >= 16 and is_chopped(value))
        if (
            place.rank == 3
            and place.literal
            and not closed
            and ((plain and not _names_a_type(value)) or not is_type_name(value))
        ):
            return len(value) >= 6 and (plain or (value.islower() and value.isalpha() and len(value) >= 12))
        return False
    if place.rank == 3:
        if value.isdigit():
            return place.literal and not closed
        if has_digit_and_letter(value):
            return len(value) >= 6 and (is_mixed(value) or place.literal or value.count("-") >= 3)
        signs = re.search(_INNER_SIGN, value) is not None or value.count("-") >= 2
        return place.literal and len(value) >= 6 and signs
    least = 6 if place.kind == "secret" else 8
    return len(value) >= least and (
        (is_mixed(value) and (place.literal or is_random(value, 12))) or is_random(value, 20)
    )
