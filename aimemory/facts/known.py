"""A fact that may not be known: two classes, so that nobody can take "could not look" for "there is nothing"."""

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Known(Generic[T_co]):
    """Looked at just now, and this was found; a value of None means that there is none."""

    value: T_co


@dataclass(frozen=True, slots=True)
class Unknown:
    """Could not be looked at; `reason` completes "not known: …"."""

    reason: str


Fact: TypeAlias = Known[T_co] | Unknown
