"""Titles that YAML readers take for something else, and a reader of YAML 1.2 beside PyYAML's of 1.1."""

import re

import yaml

HARD_TITLES = [
    "plain words", "key: value", "ends with colon:", "a #comment", "# heading", '"quoted"', "it's", "'single'",
    "@home", "*bold*", "&anchor", "!tag", "- dash", "-dash", "? question", "[a, b]", "{a: b}", "{{title}}",
    "[[Page]]", "yes", "No", "on", "OFF", "true", "False", "null", "~", "Null", "1.10", "010", "0x1F", "1e3",
    "1_000", "12:30", "190:20:30", "2026-01-02", "2026-01-02 10:00:00", "2026-01-02T10:00:00+01:00", ".inf",
    ".nan", "=", "<<", "%percent", "`code`", "|", ">", ",", "a\nb", "a\tb", "a\\b", " padded ", "🚀 emoji",
    "👩‍💻", "日本語: テスト", "x" * 300, "", "---", "...", "\x85\u2028\u2029\ufeff\x7f", "a\x01b", "C: drive", "y",
    "n",
]  # fmt: skip


class CoreLoader(yaml.SafeLoader):
    """A YAML 1.2 reader: the core schema's own rules for plain values."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - as its base has it


for _tag, _pattern, _first in [
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
]:
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)
