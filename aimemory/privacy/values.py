"""What a string looks like: a mask, words, code, a path, an opaque run. Pure predicates, no knowledge of places.

Patterns are kept as text here and in this whole package: `re` compiles each at its first use and keeps it, so that the
hook client's child pays for those alone that its event needs.
"""

import base64
import binascii
import re

STOP_WORDS = frozenset(
    [
        "any",
        "argon2",
        "argon2id",
        "authorization",
        "auto",
        "base64",
        "basic",
        "bcrypt",
        "bearer",
        "bool",
        "boolean",
        "bytes",
        "bytes32",
        "case-sensitive",
        "char",
        "const",
        "credentials",
        "default",
        "deprecated",
        "disabled",
        "empty",
        "enabled",
        "example",
        "export",
        "false",
        "file",
        "float",
        "hidden",
        "input",
        "int",
        "int32",
        "int64",
        "integer",
        "invalid",
        "json",
        "key",
        "keyword",
        "list",
        "md5",
        "missing",
        "name",
        "never",
        "new",
        "nil",
        "no",
        "none",
        "not",
        "null",
        "number",
        "oauth",
        "oauth2",
        "object",
        "off",
        "optional",
        "options",
        "on",
        "pass",
        "passphrase",
        "passwd",
        "password",
        "pbkdf2",
        "placeholder",
        "prompt",
        "public",
        "pwd",
        "read",
        "redacted",
        "required",
        "scrypt",
        "secret",
        "secretstr",
        "secure",
        "sha1",
        "sha256",
        "sha512",
        "str",
        "string",
        "text",
        "token",
        "true",
        "type",
        "typing",
        "uint8",
        "uint32",
        "undefined",
        "unknown",
        "unset",
        "user",
        "username",
        "utf8",
        "uuid",
        "value",
        "varchar",
        "void",
        "wrong",
        "yes",
    ]
)
_MASK = r"(.)\1*|[xX*•.#_-]+|…"
_PLACEHOLDER = (
    r"(?i)[$<{\[%(@]|\\[$({]|#\{|\*\*\*|•••|\.\.\.|…|xxx|not[-_ ]an?[-_ ]|"
    r"(?:your|insert|enter|replace|put|change|my)[-_ ]?"
    r"(?:me|my|your|here|the|a|with|api|own|access|auth|token|key|secret|pass)"
)
_TEMPLATE = r"\$?\{[^{}]{0,80}\}|%[sd](?![A-Za-z0-9])|%\(|\$\(|<[A-Za-z_ -]{1,40}>|\\\("
_DOTTED = r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+"
_TYPE_OF_KEY = r"(?:\w+\.)*[A-Z]\w*(?:Private|Public|Secret)Key"
_IDENTIFIER = r"[A-Za-z_$][\w$]*"
_CALL = r"[A-Za-z_$][\w$.]*[(\[{]|[^|&?!=]*(?:\|\||&&|\?\?|[!=]=(?!\Z)|=>|->)|[-=!&|?:,;)\]}+.*](?![\w/+=-]{8})"
_PATH = r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@ -]+)+[/\\]?|[a-z][a-z0-9+.-]{1,12}://\S*"
_RELATIVE_PATH = r"[\w.-]+(?:/[\w.-]+)+/?"
_SECRET_WORD = r"(?i)pass|pw|token|secret|key|cred|auth"
_PARTS = r"[^A-Za-z0-9]+"
_WORD = r"[A-Za-z]*|\d{1,4}|[A-Za-z]{2,}\d{1,3}|\d{1,3}[A-Za-z]{1,3}|[vV]\d+[a-z]?\d*"
_CAMEL = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])"
_OPEN_KEY = (
    r"(?:MFkwEwYHKoZIzj0|MHYwEAYHKoZIzj0|MCowBQYDK2V|MI.{2,8}MA0GCSqGSIb3DQEBAQUAA4|MI.{2,8}NBgkqhkiG9w0BAQEFAAOC).*"
)
"""How a public key in DER begins, in base64."""
_HASH = (
    r"(?:0x)?[0-9a-fA-F]+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|(?:sha\d{1,3}|md5|h\d)[-:=].*|SHA256:.*|AAAA[BCE]3N.*|(?:ssh|ecdsa|urn|data|arn)[-:].*"
    rf"|{_OPEN_KEY}"
)


def is_blank(value: str) -> bool:
    """Nothing to hide: too short, a mask, a placeholder, a variable's reference, our own mark, a type, a keyword."""
    bare = value.strip(" \t*_`")
    return (
        len(bare) < 4 or bare.lower() in STOP_WORDS or bool(re.match(_PLACEHOLDER, bare) or re.fullmatch(_MASK, bare))
    )


def is_template(value: str) -> bool:
    """Text with a hole that a program fills (`{password}`, `%s`, `<token>`)."""
    return re.search(_TEMPLATE, value) is not None


def has_digit_and_letter(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def is_mixed(value: str) -> bool:
    """Letters and digits together, and more than words with numbers (`test-key-2`, `base64`, `v1.2`)."""
    return has_digit_and_letter(value) and not all(re.fullmatch(_WORD, part) for part in re.split(_PARTS, value))


def is_random(value: str, least: int) -> bool:
    """At least `least` characters with an opaque part: mixed beyond names, or letters in no pattern of words."""
    part = max(re.split(_PARTS, value), key=len)
    if len(value) < least or len(part) < min(least, 12):
        return False
    if part.isalpha():
        return len(part) >= 16 and len(part) < 2.6 * max(len(re.findall(_CAMEL, part)), 1)
    if len(part) >= 20 and is_chopped(part):
        return True
    return sum(c.isdigit() for c in part) >= 2 and is_mixed(part) and not is_type_name(part)


def is_hash(value: str) -> bool:
    """A hexadecimal number, UUID, integrity digest or public key: such a thing names something and hides nothing."""
    return re.fullmatch(_HASH, value) is not None


def is_path(value: str) -> bool:
    """A path or an address, unless a part of it is an opaque run as in base64 with slashes."""
    parts = re.split(r"[/\\]", value)
    if re.fullmatch(_PATH, value):
        return not any(is_random(part, 20) for part in parts)
    return re.fullmatch(_RELATIVE_PATH, value) is not None and not any(
        is_chopped(part) or is_random(part, 12) for part in parts
    )


def is_chopped(part: str) -> bool:
    """Upper and lower case in no pattern of words."""
    letters = "".join(c for c in part if c.isalpha())
    if len(letters) < 8 or letters.islower() or letters.isupper():
        return False
    return len(letters) < 3 * len(re.findall(_CAMEL, letters))


def is_code(value: str, after: str) -> bool:
    """An expression of a program: a call, an operator, an attribute. `after` is what follows the value."""
    if re.fullmatch(_TYPE_OF_KEY, value):
        return True
    if re.fullmatch(_IDENTIFIER, value):
        return after.startswith(("(", "[", ".", "::", "->", "?.", "!"))
    if re.fullmatch(_DOTTED, value):
        first, _, rest = value.partition(".")
        attribute = first.replace("_", "").isalpha() and not is_random(rest, 12)
        return not is_random(value, 16) or attribute or re.search(_SECRET_WORD, rest) is not None
    return re.match(_CALL, value) is not None


def is_variable(value: str) -> bool:
    """An identifier that names what it stands for (`db_password2`), or a word, or a word with a number behind it."""
    if not re.fullmatch(_IDENTIFIER, value) or is_random(value, 16):
        return False
    letters = value.rstrip("0123456789")
    return re.search(_SECRET_WORD, value) is not None or (
        len(value) - len(letters) <= 2 and letters.replace("_", "").isalpha()
    )


def is_type_name(value: str) -> bool:
    """CamelCase of two words or more with few digits (`Utf8PathBuf`, `getX509Key`)."""
    words = re.findall(_CAMEL, value)
    humps = sum(word[0].isupper() for word in words)
    digits = sum(c.isdigit() for c in value)
    letters = sum(map(len, words))
    if len(value) >= 20 and is_chopped(value):
        return False
    return value.isalnum() and humps >= 2 - value[0].islower() and digits <= 3 and letters >= 2.6 * len(words) > 2.6


def is_credentials(value: str) -> bool:
    """Base64 of a printable `user:password`, and not by chance: in both cases, with three characters on each side."""
    if len(value) < 12 or value.islower() or value.isupper() or not is_basic_auth(value):
        return False
    user, _, password = base64.b64decode(value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4)).partition(b":")
    return len(user) >= 3 and len(password) >= 3 and all(32 < c < 127 for c in user + password)


def is_basic_auth(value: str) -> bool:
    """Base64 of `user:password`."""
    try:
        return len(value) >= 8 and b":" in base64.b64decode(
            value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4), validate=True
        )
    except (binascii.Error, ValueError):
        return False
