"""What readers said of a page goes with the page, with the session that said it, and with a text that it holds."""

from aimemory.journal.lines import Line, encode, encode_data
from aimemory.upkeep.purge.expiry import Expiry
from aimemory.upkeep.purge.redaction import Redaction
from aimemory.upkeep.purge.removal import Removal

DATA = {
    "op": "wrong", "page": "p1", "path": "default/app/notes/a.md", "version": "v1", "note": "we use walrus now",
    "user": "ada", "session": "s1",
}  # fmt: skip
SAID = Line(5, "feedback", 1, DATA)
RAW = encode(5, "feedback", 1, encode_data(DATA))


def test_it_goes_with_its_page_under_any_name_and_with_its_session():
    for removal in (
        Removal(page_ids=frozenset({"p1"}), sessions=frozenset({"other"})), Removal(paths=frozenset({DATA["path"]})),
        Removal(folders=("default/app",)), Removal(sessions=frozenset({"s1"})),
    ):  # fmt: skip
        assert removal.may_concern(RAW) and removal.line(SAID) is None
    kept = Removal(page_ids=frozenset({"p2"}), paths=frozenset({"default/app/notes/b.md"}), sessions=frozenset({"s2"}))
    assert not kept.may_concern(RAW) and kept.line(SAID) is DATA


def test_a_text_goes_from_its_note_and_its_verdict_stays():
    redaction = Redaction("walrus", lambda key: key)
    assert redaction.may_concern(RAW)
    new = redaction.line(SAID)
    assert new and "walrus" not in new["note"] and new["op"] == "wrong"
    assert Redaction("wrong", lambda key: key).line(SAID) == DATA
    redaction.versions["v1"] = "v2"
    assert redaction.line(SAID)["version"] == "v2"


def test_it_goes_when_its_page_has_grown_old():
    old = Expiry(lambda key: key, upto=9, paths=frozenset({DATA["path"]}))
    assert old.may_concern(RAW) and old.line(SAID) is None
    assert Expiry(lambda key: key, upto=9).line(SAID) is DATA
    assert Expiry(lambda key: key, upto=4, paths=frozenset({DATA["path"]})).line(SAID) is DATA
