# ruff: noqa: E501 -- one row of the table, one line
"""The table of personal data that is looked for where a person asks for it: `[privacy] pii`. Off by default.

A memory of work is full of addresses that mean something (authors of commits, hosts of a network), so nothing of this is
looked for unasked. What has a checksum is checked by it.
"""

import ipaddress
import re

from aimemory.privacy.patterns import Row


def _is_card(m: re.Match[str]) -> bool:
    """The Luhn checksum, and not one digit all over."""
    digits = [int(c) for c in m[0] if c.isdigit()]
    doubled = [d if n % 2 else (d * 2 - 9 if d > 4 else d * 2) for n, d in enumerate(digits[::-1], 1)]
    return len(set(digits)) > 1 and sum(doubled) % 10 == 0


def _is_iban(m: re.Match[str]) -> bool:
    """ISO 13616: the country's four moved behind, letters as numbers, rest 1 by 97."""
    text = m[0].replace(" ", "")
    return 15 <= len(text) <= 34 and int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


def _is_address(m: re.Match[str]) -> bool:
    """An address of a machine: neither this one nor a mask nor a documentation's, nor a version with four parts."""
    try:
        address = ipaddress.ip_address(m[0])
    except ValueError:
        return False
    if address.version == 6 and not any(c.isdigit() for c in m[0]):
        return False  # `a::b` is a name in several languages
    if address.is_loopback or address.is_unspecified or address.is_multicast:
        return False
    return m[0] != "255.255.255.255" and not m[0].startswith(("192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:"))


def _is_phone(m: re.Match[str]) -> bool:
    return 8 <= sum(c.isdigit() for c in m[0]) <= 15


_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"

PII: dict[str, Row] = {
    "email": Row("email", ("@",), r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:(?:[^\W_]|-){1,63}\.){1,6}[^\W\d_]{2,24}(?![\w@-])",
        ("anna.berg@example.com", "x+y@mail.example.co.uk", "ana@exämple.com", "zhang@例子.公司"), ("git@github", "user@host", "@scope/package@1.2.3", "deploy@10.0.0.1"), scope="text"),
    "phone": Row("phone", ("+",), r"(?<![\w+])\+[1-9]\d{0,2}(?:[ .()/-]{0,2}\d){6,13}(?!\w)", ("+49 30 1234 5678", "+1 (415) 555-0132", "+4915112345678"), ("+1", "a +2 b", "x+1234567", "+12.5", "+1 234 567"), check=_is_phone, scope="text"),
    "iban": Row("iban", (), r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])", ("DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819"), ("DE89 3704 0044 0532 0130 01", "AB12CD34EF56GH78"), check=_is_iban, scope="text"),
    "card": Row("card", (), r"(?<![A-Za-z0-9_.-])[2-6](?:[ -]?\d){12,18}(?![A-Za-z0-9_-]|\.\d)", ("4111 1111 1111 1111", "5500-0055-5555-5559", "378282246310005"), ("4111 1111 1111 1112", "1764500000000000000", "4444 4444 4444 4444"), check=_is_card, scope="text"),
    "ip": Row("ip", (), rf"(?<![\w.:-])(?:(?:{_OCTET}\.){{3}}{_OCTET}(?![\w-]|\.\w)|(?=[0-9A-Fa-f:]*::|(?:[0-9A-Fa-f]{{1,4}}:){{7}})[0-9A-Fa-f:]{{3,39}}(?![\w:.]))", ("10.20.30.40", "fe80::1ff:fe23:4567:890a", "81.2.69.160"), ("127.0.0.1", "0.0.0.0", "v1.2.3.4", "1.2.3.4.5", "::1", "12:30:45", "a::b", "std::vector", "192.0.2.7"), check=_is_address, scope="text"),
}  # fmt: skip
