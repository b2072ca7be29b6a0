"""A projection problem with a name: arrays for those who take numbers, tables for those who read labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.constraints.marginals import Marginal
from purtensor.tables.coded import dense_table, sparse_table
from purtensor.tables.domain import Domain
from purtensor.tables.memory import require_memory

Kind: TypeAlias = Literal["pur", "dense", "records"]
# positions of the attributes of a scope, and the target as a dense array over them
Target: TypeAlias = tuple[tuple[int, ...], FloatArray]


@dataclass(frozen=True, eq=False)
class NamedProblem:
    """A reference and the marginals that must hold.

    The tables `reference` and `constraints` are made at the first access: at 3 * 10^7 profiles the labels
    cost more than a sweep.

    Attributes
    ----------
    name
        The name by which it was loaded, or which says how it was generated.
    kind
        "pur" (dense over y, s, x), "dense", or "records" (sparse: only the profiles that occur).
    description
        What it is, in one sentence.
    domain
        Attributes and categories.
    masses
        The reference: dense over the domain, or one number per profile for "records". Zeros are structural.
    targets
        One a constraint, in the order of the sweep.
    codes
        For "records" the category codes, shape (profiles, attributes); else None.
    """

    name: str
    kind: Kind
    description: str
    domain: Domain = field(repr=False)
    masses: FloatArray = field(repr=False)
    targets: tuple[Target, ...] = field(repr=False)
    codes: IntArray | None = field(default=None, repr=False)

    def arrays(self) -> tuple[FloatArray, list[Target]]:
        """Return copies of the reference and the targets, without labels.

        Examples
        --------
        >>> import purtensor as pt
        >>> masses, targets = pt.problems.load("staircase").arrays()
        >>> [axes for axes, target in targets]
        [(0,), (1,)]
        """
        return self.masses.copy(), [(axes, target.copy()) for axes, target in self.targets]

    @property
    def profiles(self) -> int:
        """The number of profiles of the support."""
        # zeros are structural
        return int(np.count_nonzero(self.masses))

    @cached_property
    def reference(self) -> Table:
        """The reference as a table, dense or sparse by kind."""
        if self.codes is None:
            return dense_table(self.domain, self.masses.copy(), name="reference")
        return sparse_table(self.domain, list(self.codes.T), self.masses.copy(), name="reference")

    @cached_property
    def constraints(self) -> tuple[Marginal, ...]:
        """The marginals that must hold, in the order of the sweep."""
        names = self.domain.attributes
        return tuple(
            Marginal(dense_table(self.domain.select([names[axis] for axis in axes]), target.copy(), name="target"))
            for axes, target in self.targets
        )


def require_room(needed: int, what: str) -> None:
    """Refuse a problem that takes so many bytes at the peak if there are not as many.

    Raises
    ------
    TooLargeError
        There are fewer.
    """
    require_memory(needed, what, "take smaller sizes")


def number_domain(attributes: Sequence[str], sizes: Sequence[int]) -> Domain:
    """Return a domain whose categories are 0, 1, 2, ... in every attribute."""
    return Domain(tuple(attributes), tuple(pd.RangeIndex(size) for size in sizes))


def marginal_targets(masses: FloatArray, scopes: Sequence[tuple[int, ...]]) -> tuple[Target, ...]:
    """Return the marginals of a dense array over scopes of axes in ascending order.

    One axis is summed after the other: over many axes at once numpy loses more than consistent targets may differ by.
    """
    targets = []
    for axes in scopes:
        target = masses
        for axis in sorted(set(range(masses.ndim)) - set(axes), reverse=True):
            target = target.sum(axis=axis)
        targets.append((axes, target))
    return tuple(targets)
