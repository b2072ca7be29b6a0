"""The problem as arrays: what every solver sees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.constraints.consistency import check_consistency
from purtensor.constraints.indexing import take
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.slabs import Slabs, in_slab_order
from purtensor.constraints.system import Reduction, System, align, reduce_system
from purtensor.errors import InfeasibleError
from purtensor.tables.coded import CodedTable, encode


@dataclass(frozen=True, slots=True, eq=False)
class Emptied:
    """The Z profiles that zero targets empty: no part of the problem, but of a first sweep as it is defined.

    Attributes
    ----------
    masses
        Shape (Z,): their reference, on the scale of the problem's.
    rows
        Shape (K, Z): their row within each constraint of the problem, -1 where the target is zero.
    """

    masses: FloatArray
    rows: IntArray


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Problem:
    """An information projection on M profiles with D rows of K constraints, free of labels and zeros.

    Attributes
    ----------
    reference
        Shape (M,): positive masses, scaled by a power of two to a total in [1/2, 1).
    system
        The constraints; its targets are positive and scaled by a power of two to a total in [1/2, 1).
    total
        The total of the targets as scaled: what the projection's masses sum to.
    slabs
        The slabs in whose order the profiles lie; None where the constraints share no attribute.
    emptied
        What zero targets took away; None where there are none.
    """

    reference: FloatArray
    system: System
    total: float
    slabs: Slabs | None
    emptied: Emptied | None = None

    @property
    def index(self) -> IntArray:
        """Shape (K, M): the row of each profile within each constraint."""
        return self.system.index

    @property
    def offsets(self) -> IntArray:
        """Shape (K + 1,): where the rows of each constraint begin among all D rows."""
        return self.system.offsets

    @property
    def targets(self) -> FloatArray:
        """Shape (D,): the targets of all rows."""
        return self.system.targets


@dataclass(frozen=True, slots=True, eq=False)
class LabelledProblem:
    """A problem with its way back to the labels.

    Attributes
    ----------
    coded
        The reference on its support.
    constraints
        The constraints as they were given.
    full
        The constraints on the whole support, in the targets' own units.
    reduction
        What is left of `full` without zero targets.
    profiles
        Shape (M,): where in the reference's support each profile of `arrays` stands.
    arrays
        The problem that the solvers see.
    reference_exponent, target_exponent
        The reference and the targets were divided by two to these powers.
    """

    coded: CodedTable
    constraints: tuple[Marginal, ...]
    full: System
    reduction: Reduction
    profiles: IntArray
    arrays: Problem
    reference_exponent: int
    target_exponent: int

    @property
    def total(self) -> float:
        """The total of the targets as they were given."""
        return math.ldexp(self.arrays.total, self.target_exponent)


def build_problem(
    reference: Table, constraints: Sequence[Marginal], *, bare_rows: bool = False
) -> LabelledProblem:  # fmt: skip
    """Return the projection problem of a reference and constraints as arrays.

    Parameters
    ----------
    bare_rows
        Whether positive targets without any profile are let through, for those who want to see how far it goes.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError
        As the tables and constraints deserve.
    InfeasibleError
        A positive target whose row has no profile left.
    """
    coded = encode(reference)
    check_consistency(constraints)
    full = align(coded, constraints)
    reduction = reduce_system(full)
    _require_support(full, reduction, bare_rows=bare_rows)
    system, slabs, order = in_slab_order(reduction.system)
    profiles = order if reduction.system is full else reduction.profiles[order]
    scaled, reference_exponent = _scaled(coded.values, profiles)
    target_exponent = math.frexp(float(system.targets[system.block(0)].sum()))[1]
    targets = np.ldexp(system.targets, -target_exponent)
    total = float(targets[system.block(0)].sum())
    emptied = _emptied(coded, full, reduction, reference_exponent)
    arrays = Problem(scaled, system.with_targets(targets), total, slabs, emptied)
    return LabelledProblem(
        coded, tuple(constraints), full, reduction, profiles, arrays, reference_exponent, target_exponent
    )


def _emptied(coded: CodedTable, full: System, reduction: Reduction, exponent: int) -> Emptied | None:
    if reduction.system is full:
        return None
    gone = np.ones(full.profiles, dtype=bool)
    gone[reduction.profiles] = False
    rows = np.empty((len(full.scopes), int(gone.sum())), dtype=np.int64)
    for k in range(len(full.scopes)):
        stays = full.targets[full.block(k)] != 0.0
        place = np.where(stays, np.cumsum(stays) - 1, -1)
        rows[k] = place[full.index[k][gone]]
    return Emptied(np.ldexp(coded.values[gone], -exponent), rows)


def _scaled(values: FloatArray, profiles: IntArray) -> tuple[FloatArray, int]:
    """Return the values of the profiles divided by a power of two, and its exponent."""
    scaled = np.empty(len(profiles))
    take(values, profiles, scaled)
    exponent = math.frexp(float(scaled.sum()))[1]
    return np.ldexp(scaled, -exponent, out=scaled), exponent


def _require_support(full: System, reduction: Reduction, *, bare_rows: bool) -> None:
    system = reduction.system
    bare = np.flatnonzero(~system.supported())
    if system.profiles and (bare_rows or len(bare) == 0):
        return
    row = int(reduction.rows[bare[0]])
    k = int(np.searchsorted(full.offsets, row, side="right")) - 1
    needs = full.targets[row]
    emptied = full.supported()[row]
    why = "zero targets empty every profile of it" if emptied else "the reference has no profile there"
    raise InfeasibleError(
        f"no distribution meets the constraints: {full.row_label(row)} needs {needs:g} by the target over "
        f"({', '.join(full.scopes[k])}), but its support is empty: {why}"
    )
