"""Which events count as delivered before."""

import asyncio

import pytest

from aimemory.store.dedupe import Dedupe, KeyFilter, Known

SECOND = 1_000_000_000


def digest(number):
    return f"{number:032x}"


def event(key, at, *, content=None, session="s"):
    return Known(
        key=digest(key), hash=digest(content) if content is not None else None, at_ns=at * SECOND, session=session
    )


class Index:
    """What the index holds, as the two lookups see it."""

    def __init__(self, *stored):
        self.stored = list(stored)
        self.asked = 0

    async def lookup(self, key, content):
        self.asked += 1
        return [k for k in self.stored if k.key == key or (content and k.hash == content)]

    async def between(self, session, first, last):
        return any(k.session == session and first < k.at_ns < last for k in self.stored)


async def took(dedupe, known):
    """Whether the event was new; a new one is noted."""
    if await dedupe.find(known) is not None:
        return False
    future = asyncio.get_running_loop().create_future()
    future.set_result(1)
    dedupe.add(known, future)
    return True


def deduping(*stored):
    index = Index(*stored)
    dedupe = Dedupe(index.lookup, index.between)
    dedupe._primed.set()
    dedupe.load([k.key for k in stored] + [k.hash for k in stored if k.hash])
    return dedupe, index


def run(coroutine):
    return asyncio.run(coroutine)


def test_an_event_with_identity_is_known_for_ever():
    async def story():
        dedupe, _ = deduping()
        return [await took(dedupe, event(1, 0)), await took(dedupe, event(1, 10_000))]

    assert run(story()) == [True, False]


def test_an_event_of_an_earlier_life_of_the_daemon_is_found_in_the_index():
    async def story():
        dedupe, index = deduping(event(1, 0))
        return await took(dedupe, event(1, 5)), index.asked

    assert run(story()) == (False, 1)


def test_a_new_event_never_costs_a_look_into_the_index():
    async def story():
        dedupe, index = deduping(event(1, 0))
        return await took(dedupe, event(2, 0)), index.asked

    assert run(story()) == (True, 0)


def test_before_the_keys_are_loaded_the_index_is_asked():
    async def story():
        index = Index(event(1, 0))
        dedupe = Dedupe(index.lookup, index.between)
        dedupe._primed.set()
        return await took(dedupe, event(1, 0)), await took(dedupe, event(2, 0))

    assert run(story()) == (False, True)


@pytest.mark.parametrize("apart, is_new", [(1, False), (2, False), (3, True)])
def test_equal_payloads_within_two_seconds_are_one_event(apart, is_new):
    async def story():
        dedupe, _ = deduping()
        await took(dedupe, event(1, 10, content=9))
        return await took(dedupe, event(2, 10 + apart, content=9))

    assert run(story()) is is_new


def test_equal_payloads_with_another_event_between_are_two():
    """Recorded: the same resume twice within 1.6 s, the session's end in between."""

    async def story():
        dedupe, _ = deduping()
        await took(dedupe, event(1, 10, content=9))
        await took(dedupe, event(2, 11, content=7))
        return await took(dedupe, event(3, 12, content=9))

    assert run(story()) is True


def test_the_same_holds_for_events_that_only_the_index_remembers():
    async def story():
        dedupe, _ = deduping(event(1, 10, content=9), event(2, 11, content=7))
        split = await took(dedupe, event(3, 12, content=9))
        other, _ = deduping(event(1, 10, content=9))
        return split, await took(other, event(3, 12, content=9))

    assert run(story()) == (True, False)


def test_the_event_between_counts_also_while_only_memory_knows_it():
    """Seen: the index held the first of the two already, and not yet what came between."""

    async def story():
        dedupe, _ = deduping(event(1, 10, content=9))
        await took(dedupe, event(2, 11, content=7))
        return await took(dedupe, event(3, 12, content=9))

    assert run(story()) is True


def test_an_event_whose_write_failed_is_new_again():
    async def story():
        dedupe, _ = deduping()
        known = event(1, 10, content=9)
        await took(dedupe, known)
        dedupe.forget_failed(known)
        return await took(dedupe, known)

    assert run(story()) is True


def test_memory_forgets_only_what_the_index_holds():
    async def story():
        dedupe, _ = deduping()
        for number in range(20_010):
            future = asyncio.get_running_loop().create_future()
            future.set_result(number + 1)
            dedupe.add(event(number, number * 10, session=None), future)
        dedupe.applied(5)
        return [await took(dedupe, event(n, n * 10, session=None)) for n in (0, 4, 5, 6)]

    assert run(story()) == [True, True, False, False]


def test_the_filter_never_says_new_of_what_it_holds():
    known = KeyFilter()
    for number in range(0, 5000, 2):
        known.add(digest(number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128))

    assert all(known.may_hold(digest(n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)) for n in range(0, 5000, 2))
    wrong = sum(known.may_hold(digest(n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)) for n in range(1, 5000, 2))
    assert wrong == 0
