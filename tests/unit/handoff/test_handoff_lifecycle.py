"""The life of a handoff, line by line: what each one makes of it, and what is refused."""

import pytest

from aimemory.handoff.lifecycle import apply, changes_nothing, fold, refusal, taker
from aimemory.model.handoff import HandoffOp, HandoffState, Party

ADA = {"session": "s2", "harness": "codex", "user": "ada", "machine": "m1"}
BOB = {"session": "s3", "harness": "claude-code", "user": "ada", "machine": "m1"}
WHAT = {"session": "s1", "project": "p", "harness": "claude-code", "manual": False, "title": "Fix it", "page": "a/b.md"}


def line(op, by=ADA, **more):
    return {"op": op, "handoff": "h1", "by": by, **more}


def after(*lines):
    return fold((10 * n, data) for n, data in enumerate(lines, 1))


def party(by):
    return Party(by["session"], by["harness"], by["user"], by["machine"])


def test_from_its_page_to_its_end():
    handoff = after(line("open", **WHAT), line("offer"), line("claim", since=17), line("done"))

    assert handoff.state is HandoffState.DONE and handoff.page == "a/b.md" and handoff.title == "Fix it"
    assert handoff.claimed_by == party(ADA) and handoff.claimed_at_ns == 17
    assert (handoff.opened_at_ns, handoff.changed_at_ns) == (10, 40)


def test_an_offer_may_come_before_any_page_and_changes_no_state():
    handoff = after(line("offer", **{**WHAT, "page": None}))

    assert handoff.state is HandoffState.OPEN and handoff.page is None
    assert handoff.offered_at_ns("s2") == 10 and handoff.offered_at_ns("s3") is None
    written = apply(handoff, line("open", **WHAT), 20)
    assert written.page == "a/b.md" and written.offers == handoff.offers


def test_given_back_it_is_open_and_its_receiver_may_be_told_again():
    handoff = after(line("open", **WHAT), line("offer"), line("offer", BOB), line("claim"), line("release"))

    assert handoff.state is HandoffState.OPEN and handoff.claimed_by is None and handoff.claimed_at_ns is None
    assert [offer.session for offer in handoff.offers] == ["s3"]


def test_what_others_did_while_it_was_taken_takes_it_not_when_it_is_given_back():
    """Else a session that is long over, or that was told it is gone, would have it with the next look."""
    lines = [line("open", **WHAT), line("offer"), line("offer", BOB), line("claim")]

    assert after(*lines, line("release")).offered_at_ns("s3") == 50
    told = after(*lines, line("tell", BOB), line("release"))
    assert told.offers == () and told.told == ()


def test_a_rewritten_page_keeps_what_is_not_said_anew_and_the_state():
    handoff = after(
        line("open", **WHAT, summary="half done"), line("claim"), line("open", **{**WHAT, "title": "Fix more"})
    )

    assert handoff.state is HandoffState.CLAIMED and handoff.title == "Fix more" and handoff.summary == "half done"


def test_offers_and_news_are_no_change():
    handoff = after(line("open", **WHAT), line("offer"), line("tell", BOB))

    assert handoff.changed_at_ns == 10 and handoff.told == ("s3",)


@pytest.mark.parametrize(
    ("lines", "op", "says"),
    [
        ([], "claim", "no such handoff"),
        ([], "open", None),
        ([], "offer", None),
        (["open"], "claim", None),
        (["open"], "release", "nobody has taken it"),
        (["open", "claim"], "claim", "was taken by codex (session s2) at"),
        (["open", "claim"], "offer", "was taken by"),
        (["open", "claim"], "expire", "was taken by"),
        (["open", "claim"], "done", None),
        (["open", "claim"], "cancel", None),
        (["open", "done"], "claim", "is done since"),
        (["open", "cancel"], "open", "is cancelled since"),
        (["open", "expire"], "cancel", "is expired since"),
        (["open", "done"], "tell", None),
    ],
)
def test_what_can_be_done_in_which_state(lines, op, says):
    handoff = after(*(line(one, **WHAT) for one in lines)) if lines else None
    said = refusal(handoff, HandoffOp(op), party(BOB))

    assert said is None if says is None else says in said


def test_what_would_only_repeat_is_known():
    handoff = after(line("open", **WHAT), line("offer"), line("claim"), line("tell", BOB))

    assert changes_nothing(handoff, HandoffOp.CLAIM, party(ADA))
    assert not changes_nothing(handoff, HandoffOp.CLAIM, party(BOB))
    assert changes_nothing(handoff, HandoffOp.OFFER, party(ADA))
    assert changes_nothing(handoff, HandoffOp.TELL, party(BOB))
    assert not changes_nothing(None, HandoffOp.OFFER, party(ADA))


def test_a_line_of_a_newer_version_changes_nothing():
    handoff = after(line("open", **WHAT))

    assert apply(handoff, line("lend"), 99) == handoff
    assert apply(None, line("claim"), 99) is None


def test_who_took_it_is_named_by_harness_or_as_a_person():
    by_hand = after(line("open", **WHAT), line("claim", {"user": "ada", "machine": "m1"}))

    assert taker(by_hand).startswith("ada at the command line at ")
    assert taker(after(line("open", **WHAT))) == "nobody"
