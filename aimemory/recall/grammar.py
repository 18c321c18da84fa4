"""Grammar of scripts without spaces: pairs of characters of a query that say nothing, as function words elsewhere."""

import re
from collections.abc import Sequence

_CHINESE = (
    "什么 怎么 如何 为什 哪些 哪里 哪个 多少 是否 我们 可以 这个 那个 一个 怎样 为何 还是 没有 不是"
    " 什麼 怎麼 為什 哪裡 哪個 我們 這個 那個 一個 怎樣 為何 還是 沒有"
)
_CHINESE_PAIRS = frozenset(_CHINESE.split())
_CHINESE_PARTICLES = frozenset("的了吗呢吧着嗎著")
_NO_PARTICLE = ("目的", "的确", "的確", "了解", "着手", "著名", "著作")
_JAPANESE_PARTICLES = frozenset("のをはがにへとでもや")
_KOREAN_PARTICLES = frozenset("은는이가을를의에로와과도")
_KOREAN = "하기 하는 하다 합니 니다 했다 되는 된다 하지 나요 까요 습니 어떻 떻게"
_KOREAN_PAIRS = frozenset(_KOREAN.split())

_HIRAGANA = re.compile(r"[\u3040-\u309f\u30fc]+")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HANGUL = re.compile(r"[\u1100-\u11ff\uac00-\ud7a3]+")


def fillers(run: str, pairs: Sequence[str]) -> frozenset[str]:
    """Of the pairs of neighbouring characters of a run those that hold grammar.

    A run that is one pair was typed as a word, and so was one in hiragana alone: of these only question words count.
    """
    if len(pairs) < 2 or _HIRAGANA.fullmatch(run):
        return _CHINESE_PAIRS.intersection(pairs)
    if _HANGUL.fullmatch(run):
        last = {pairs[-1]} if pairs[-1][1] in _KOREAN_PARTICLES else set()
        return frozenset(last | _KOREAN_PAIRS.intersection(pairs))
    if _KANA.search(run):
        return frozenset(p for p in pairs if _HIRAGANA.fullmatch(p) or not _JAPANESE_PARTICLES.isdisjoint(p))
    return frozenset(p for p in pairs if p in _CHINESE_PAIRS or (p not in _NO_PARTICLE and _has_particle(p)))


def _has_particle(pair: str) -> bool:
    return not _CHINESE_PARTICLES.isdisjoint(pair)
