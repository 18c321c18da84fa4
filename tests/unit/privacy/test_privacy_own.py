"""Own patterns, allowed texts, personal data: what they do, what is refused, and that none of them can be made slow."""

import re
import time

import pytest

from aimemory.errors import UserError
from aimemory.privacy import RuleSet, sanitize, sanitize_payload, sanitize_tree
from aimemory.privacy.find import secret_spans
from aimemory.privacy.own import WIDTH, own_row, width_of
from aimemory.privacy.pii import PII
from aimemory.privacy.prefilter import active
from aimemory.privacy.settings import checked, read, render, rules_of

CUSTOMER = checked({"patterns": {"customer-number": r"KD-\d{8}"}})


def test_own_pattern_is_redacted_under_its_name_from_text_trees_and_payloads():
    assert sanitize("for KD-12345678, not KD-1", CUSTOMER).value == "for [redacted:customer-number], not KD-1"
    assert sanitize_tree({"KD-12345678": ["KD-12345678"]}, CUSTOMER).value == {
        "[redacted:customer-number]": ["[redacted:customer-number]"]
    }
    assert sanitize_payload(b'{"a": "KD-12345678"}', CUSTOMER).counts == {"customer-number": 1}


def test_own_pattern_is_found_behind_an_encoding():
    assert sanitize("%4B%44%2D%31%32%33%34%35%36%37%38", CUSTOMER).value == "[redacted:customer-number]"


def test_own_pattern_in_windows_is_found_as_in_one_piece():
    text = "x" * 95 + " KD-12345678 " + "y" * 90 + "KD-87654321"

    whole = secret_spans(text, CUSTOMER, active(text, CUSTOMER), len(text))

    assert len(whole) == 2
    for window in range(1, 60):
        assert secret_spans(text, CUSTOMER, active(text, CUSTOMER), window) == whole


@pytest.mark.promise("P4.121")
@pytest.mark.parametrize("pattern, why", [
    ("(a+)+bcd", "not understood"), (r"x(?=abc)", "not understood"), (r"abc\1", "not understood"), ("^abcd", "not understood"), ("abcd$", "not understood"),
    ("abc.*def", "without a limit"), ("a{1,40}a{1,40}xyz", "can't be told"), (r"\w{1,40}abcd", "can't be told"), ("[a-z]{1,300}-ACME", "256 are allowed"), ("(?:ab|c)xyz", "one length"),
    ("(?:ab", "not closed"), ("[ab", "not understood"), (r"\d{8}", "in a row"), ("ab", "in a row"), ("abc", "fewer than 4"), ("abcd+?", "not understood"), ("redacted", "marks"), ("abcd{3,1}", "more to less"), ("", "in a row"),
])  # fmt: skip
def test_what_could_be_slow_or_is_no_pattern_is_refused_with_its_reason(pattern, why):
    with pytest.raises(ValueError, match=re.escape(why)):
        own_row("mine", pattern)


@pytest.mark.parametrize("pattern, matches", [
    (r"(?i)project bluebird", "Project BLUEBIRD"), (r"[a-z0-9-]{1,40}\.corp\.example\.com", "build-7.corp.example.com"), (r"acme_(?:live|test)_[A-Za-z0-9]{8,}", "acme_live_0123456789"),
    (r"\bACME\d{4,8}\b", "ACME12345"), (r"case [#№]\d{5,}", "case #123456"), (r"id=[^&\s]{6,40}&x=1", "id=abcdefg&x=1"), (r"foo\.bar[ ]?baz", "foo.bar baz"),
])  # fmt: skip
def test_what_is_understood_means_what_it_means_elsewhere(pattern, matches):
    row = own_row("mine", pattern)

    assert re.fullmatch(pattern, matches)
    assert re.fullmatch(row.regex, matches)
    assert sanitize(f"a {matches} b", RuleSet(extra=(row,))).value == "a [redacted:mine] b"


@pytest.mark.promise("P4.121")
@pytest.mark.parametrize("pattern, text", [
    (r"[a-z0-9-]{1,250}\.corp", "a" * 9 + ".corpa"), (r"[a-z]{1,120}[0-9]{1,120}\.corp", "a" * 119 + "1" * 119 + ".cor"), (r"corp[a-z]{0,100}[0-9]{0,100}!", "corp" + "a" * 99 + "1" * 99), (r"abc[^!]{1,200}!", "abc"),
])  # fmt: skip
def test_no_text_makes_an_own_pattern_cost_more_than_its_bound(pattern, text):
    row = own_row("mine", pattern)
    assert width_of(row) <= WIDTH
    size = 1 << 16
    made = (text * (size // len(text) + 1))[:size]

    plain = timed(lambda: sum(1 for _ in re.finditer(r"[a-z]{256}", "a" * size + "!")))
    cost = timed(lambda: sum(1 for _ in re.finditer(row.regex, made)))

    assert cost < 8 * WIDTH * max(plain, 1e-4)  # a pattern that tries again takes thousands of times more


def timed(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def test_all_problems_of_the_settings_are_named_at_once_and_the_rest_holds():
    rules, problems = rules_of(
        {"pii": ["email", "shoe-size"], "allow": ["abc", "hunter2xyz"], "patterns": {"Bad Name": "abcd", "x1": "(", "good": "KD-\\d{8}"}}
    )  # fmt: skip

    assert len(problems) == 4
    assert [row.kind for row in rules.extra] == ["email", "good"] and rules.allow == {"hunter2xyz"}
    with pytest.raises(UserError, match=r"(?s)shoe-size.*Bad Name.*x1"):
        checked({"pii": ["shoe-size"], "patterns": {"Bad Name": "abcd", "x1": "("}})


def test_patterns_together_are_bounded():
    many = {f"p{n}": f"[a-z]{{1,200}}-ACME{n}" for n in range(9)}

    rules, problems = rules_of({"patterns": many})

    assert len(rules.extra) < 9 and "together" in problems[0]


def test_allowed_text_stays_wherever_a_rule_would_take_it_and_nothing_longer_does():
    secret = "AKIA" + "IOSFODNN7EXAMPL2"
    rules = checked({"allow": [secret, "hunter2xyz"]})

    text = f"{secret} password=hunter2xyz https://a:hunter2xyz@b.example"
    assert sanitize(text, rules).value == text
    assert sanitize_tree({"password": "hunter2xyz"}, rules).value == {"password": "hunter2xyz"}
    assert "hunter2xyzz" not in sanitize("password=hunter2xyzz", rules).value
    assert sanitize("<private>hunter2xyz</private>", rules).value == "[redacted:private]"


@pytest.mark.promise("P4.122")
@pytest.mark.parametrize("kind", PII)
def test_personal_data_goes_where_that_is_asked_for_and_only_there(kind):
    row, rules = PII[kind], checked({"pii": [kind]})

    for example in row.examples:
        assert sanitize(f"a {example} b", rules).value == f"a [redacted:{kind}] b"
        assert sanitize(f"a {example} b").value == f"a {example} b"
    for text in row.lookalikes:
        if kind != "ip" or "@" not in text:
            assert sanitize(f"a {text} b", rules).value == f"a {text} b"


def test_settings_come_back_from_the_file_that_the_daemon_writes(tmp_path):
    path, table = tmp_path / "privacy.json", {"pii": ["iban"], "allow": ["hunter2xyz"], "patterns": {"cu": "KD-\\d{8}"}}
    path.write_bytes(render(table))

    assert read(str(path)) == rules_of(table)[0]
    for raw in (b"", b"[]", b"\xff"):
        path.write_bytes(raw)
        assert read(str(path)) is None
    assert read(str(tmp_path / "none")) is None


def test_a_card_number_within_a_script_without_spaces_goes():
    rules = checked({"pii": ["card"]})

    assert sanitize("カード番号4111111111111111です", rules).value == "カード番号[redacted:card]です"
    assert sanitize("id4111111111111111 4111111111111111x", rules).value == "id4111111111111111 4111111111111111x"
