"""A proved bound on the distance of an iterate to the exact projection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from purtensor.solving.iterate import Iterate


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is proved of an iterate p: D(q || p) <= bound and TV(q, p) <= tv_bound for the exact projection q."""

    bound: float
    tv_bound: float

    @property
    def certified(self) -> bool:
        """Whether anything is proved."""
        return self.bound < float("inf")


class Certifier(Protocol):
    """Computes certificates for one problem."""

    def certify(self, iterate: Iterate) -> Certificate:
        """Return what can be proved of this iterate."""
        ...
