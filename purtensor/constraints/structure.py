"""What the ways to an exact rank have in common: a set of independent rows, and proofs for the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from purtensor._typing import BoolArray, IntArray

_PROFILES_AT_ONCE = 1 << 20
"""What a compiled loop takes on before it comes back to Python, where interrupts are heard."""


def blocks(profiles: int) -> Iterator[tuple[int, int]]:
    """Yield where the blocks of profiles begin and end that one call of a kernel takes on."""
    for begin in range(0, profiles, _PROFILES_AT_ONCE):
        yield begin, min(begin + _PROFILES_AT_ONCE, profiles)


class Proof(NamedTuple):
    """Why a row is redundant: `multiplier` times it is the sum of `weights` times `rows`."""

    row: int
    multiplier: int
    rows: IntArray
    weights: IntArray


class Structure(Protocol):
    """A structure of the spanning rows that determines their exact rank."""

    @property
    def method(self) -> str:
        """How the rank was found, in a few words."""
        ...

    @property
    def independent(self) -> BoolArray:
        """A maximal set of independent rows, shape (D,)."""
        ...

    @property
    def explained(self) -> tuple[int, ...]:
        """The constraints all of whose supported rows are independent or proved by `proofs`."""
        ...

    @property
    def serves_order(self) -> bool:
        """Whether constraints were served in order, so that the independent rows of the first ones span theirs."""
        ...

    def proofs(self) -> Iterator[Proof]:
        """Yield why rows are redundant that follow from no shared marginal, or stand in an explained constraint."""
        ...
