"""`Sanitized[T]`: the only thing that is stored, logged or sent.

Owns the type and its seal; what may be sealed is decided in `aimemory.privacy.sanitize`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Generic, NoReturn, TypeVar, final

T = TypeVar("T")
U = TypeVar("U")

PRIVACY_SEAL = object()
"""What the constructor asks for. Only `aimemory.privacy` may name it; a test reads every source file for it."""


@final
class Sanitized(Generic[T]):
    """A value that has passed the gate. Not a `str`, so that a forgotten call is a type error and not a leak.

    Its text form shows how many things were redacted and never what it holds. It can't be copied or pickled: a copy
    made elsewhere would not have passed the gate.
    """

    __slots__ = ("_counts", "_value")
    _counts: Mapping[str, int]
    _value: T

    def __init__(self, value: T, counts: Mapping[str, int], seal: object) -> None:
        if seal is not PRIVACY_SEAL:
            raise TypeError("A Sanitized value is made by aimemory.privacy.sanitize and by nothing else.")
        object.__setattr__(self, "_value", value)
        object.__setattr__(self, "_counts", MappingProxyType(dict(counts)))

    @property
    def value(self) -> T:
        return self._value

    @property
    def counts(self) -> Mapping[str, int]:
        """How many redactions of each kind were made; read-only."""
        return self._counts

    def derive(self, fn: Callable[[T], U]) -> "Sanitized[U]":
        """The result of `fn`, still sanitised.

        fn may only select, cut or rearrange what it is given, or add our own ids and numbers: text from anywhere else
        has to pass the gate itself.
        """
        made: Sanitized[U] = object.__new__(Sanitized)
        object.__setattr__(made, "_value", fn(self._value))
        object.__setattr__(made, "_counts", self._counts)  # a read-only view: shared, not copied
        return made

    def __repr__(self) -> str:
        shown = ", ".join(f"{kind}: {count}" for kind, count in sorted(self._counts.items()))
        return f"<Sanitized {type(self._value).__name__}, redacted {{{shown}}}>"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("A Sanitized value can't be changed; derive another one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("A Sanitized value can't be changed; derive another one.")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A Sanitized value can't be copied or pickled; hand over its `value` and sanitise it there.")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("Sanitized is final.")
