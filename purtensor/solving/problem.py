"""The problem as arrays: what every solver sees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.constraints.consistency import check_consistency
from purtensor.constraints.indexing import put, take
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.slabs import Slabs, in_slab_order
from purtensor.constraints.system import Reduction, System, align, reduce_system
from purtensor.errors import InfeasibleError
from purtensor.solving.scaling import exponent_to_unit, scale_emptied, scale_targets
from purtensor.tables.coded import encode, relaid


@dataclass(frozen=True, slots=True, eq=False)
class Emptied:
    """The Z profiles that targets of 0 exclude: not part of the problem, but of the first sweep by its definition.

    Attributes
    ----------
    masses
        Shape (Z,): their reference, on the scale of the problem's.
    rows
        Shape (K, Z): their row within each constraint of the problem, -1 where the target is zero.
    """

    masses: FloatArray
    rows: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class FaceRounding:
    """How far float64 targets are from implying, exactly, the zeros of a face.

    Attributes
    ----------
    mass
        What the profiles left out may have together in a table that meets the targets, as scaled.
    rows
        Shape (D,): by how much the sums of such a table over the face may differ from the targets.
    """

    mass: float
    rows: FloatArray


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
        The profiles and rows removed by targets of 0; None if there are none.
    log_reference
        Shape (M,): the logarithms of the reference where float64 does not hold its masses, so that some of them may
        be 0; else None.
    face_rounding
        On a face whose zeros the targets imply to rounding only, or where other rows are met than `independent_rows`
        finds: how far the targets may be from those that the bounds are about; else None.
    log_rounding
        Shape (M,): by how many units of 2^-53 a mass may be rounded that the reference gave by its logarithm; None
        where masses were given.
    """

    reference: FloatArray
    system: System
    total: float
    slabs: Slabs | None
    emptied: Emptied | None = None
    log_reference: FloatArray | None = None
    face_rounding: FaceRounding | None = None
    log_rounding: FloatArray | None = None

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

    def logarithms(self) -> FloatArray:
        """Return the logarithms of the reference, shape (M,)."""
        return np.log(self.reference) if self.log_reference is None else self.log_reference


@dataclass(frozen=True, slots=True, eq=False)
class LabelledProblem:
    """A problem with its way back to the labels.

    Attributes
    ----------
    template
        The reference as given.
    positions
        Shape (N,): where in it the N profiles of its support stand; None where all that it stores have mass.
    constraints
        The constraints as they were given.
    full
        Their rows, zero targets included, in the targets' own units, without profiles.
    rows
        Shape (D,): which rows of `full` those of `arrays` are.
    profiles
        Shape (M,): where in the reference's support each profile of `arrays` stands.
    arrays
        The problem that the solvers see.
    reference_total
        The mass of the reference.
    reference_exponent, target_exponent
        The reference and the targets were divided by two to these powers.
    log_scale
        What was subtracted from the logarithms of a reference that is given by them; else 0.
    """

    template: Table
    positions: IntArray | None
    constraints: tuple[Marginal, ...]
    full: System
    rows: IntArray
    profiles: IntArray
    arrays: Problem
    reference_total: float
    reference_exponent: int
    target_exponent: int
    log_scale: float = 0.0

    @property
    def total(self) -> float:
        """The total of the targets as they were given."""
        return math.ldexp(self.arrays.total, self.target_exponent)

    @property
    def kept_share(self) -> float:
        """The share of the reference's mass that zero targets, and implied zeros, leave; 1 where there are none."""
        if len(self.profiles) == (self.template.size if self.positions is None else len(self.positions)):
            return 1.0
        return math.ldexp(float(self.arrays.reference.sum()), self.reference_exponent) / self.reference_total

    def table(self, values: FloatArray, *, name: str, exponent: int = 0) -> Table:
        """Return values of the M profiles, times two to a power, as a table like the reference, exact 0 elsewhere."""
        flat = np.zeros(self.template.size)
        put(flat, self.profiles if self.positions is None else self.positions[self.profiles], values)
        return relaid(self.template, np.ldexp(flat, exponent, out=flat) if exponent else flat, name=name)


def build_problem(reference: Table, constraints: Sequence[Marginal], *, bare_rows: bool = False) -> LabelledProblem:
    """Return the projection problem of a reference and constraints as arrays.

    Parameters
    ----------
    bare_rows
        Whether positive targets without any profile are allowed.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError
        Naming what does not fit.
    InfeasibleError
        A positive target whose row has no profile left.
    """
    coded = encode(reference, copy=False)
    values, positions = coded.values, None if len(coded.values) == reference.size else coded.positions
    check_consistency(constraints)
    full = align(coded, constraints)
    del coded  # its codes are large, and no longer needed
    reduction = reduce_system(full)
    _require_support(full, reduction, bare_rows=bare_rows)
    gone = _find_emptied(values, full, reduction)
    full = full.without_profiles()
    # the reduced system is ours: to copy its index would double the largest array
    system, slabs, order = in_slab_order(reduction.system, in_place=True)
    profiles = order if gone is None else reduction.profiles[order]
    scaled, reference_exponent = _scale(values, profiles)
    target_exponent = math.frexp(float(system.targets[system.block(0)].sum()))[1]
    targets = scale_targets(system.targets, target_exponent)
    total = float(targets[system.block(0)].sum())
    emptied = None if gone is None else Emptied(scale_emptied(gone.masses, reference_exponent), gone.rows)
    arrays = Problem(scaled, system.with_targets(targets), total, slabs, emptied)
    return LabelledProblem(
        reference,
        positions,
        tuple(constraints),
        full,
        reduction.rows,
        profiles,
        arrays,
        float(values.sum()),
        reference_exponent,
        target_exponent,
    )


def _find_emptied(values: FloatArray, full: System, reduction: Reduction) -> Emptied | None:
    """Return the profiles that zero targets empty, with their masses as given."""
    if reduction.system is full:
        return None
    gone = np.ones(full.profiles, dtype=bool)
    gone[reduction.profiles] = False
    rows = np.empty((len(full.scopes), int(gone.sum())), dtype=np.int64)
    for k in range(len(full.scopes)):
        stays = full.targets[full.block(k)] != 0.0
        # row numbers once the rows of target 0 are gone
        place = np.where(stays, np.cumsum(stays) - 1, -1)
        rows[k] = place[full.index[k][gone]]
    return Emptied(values[gone], rows)


def _scale(values: FloatArray, profiles: IntArray) -> tuple[FloatArray, int]:
    """Return the values of the profiles divided by a power of two, and its exponent."""
    scaled = np.empty(len(profiles))
    take(values, profiles, scaled)
    # by a power of two, so that no digit changes and the way back is exact
    exponent = exponent_to_unit(scaled)
    return np.ldexp(scaled, -exponent, out=scaled), exponent


def _require_support(full: System, reduction: Reduction, *, bare_rows: bool) -> None:
    system = reduction.system
    bare = np.flatnonzero(~system.find_supported())
    # a verdict may be asked of such rows: they are its shortest proof
    if system.profiles and (bare_rows or len(bare) == 0):
        return
    row = int(reduction.rows[bare[0]])
    k = int(np.searchsorted(full.offsets, row, side="right")) - 1
    needs = full.targets[row]
    emptied = full.find_supported()[row]
    why = "targets of 0 exclude all its profiles" if emptied else "the reference has no profile there"
    raise InfeasibleError(
        f"no distribution meets the constraints: {full.row_label(row)} needs {needs:g} by the target over "
        f"({', '.join(full.scopes[k])}), but its support is empty: {why}"
    )
