"""A projection problem some of whose rows need not be met exactly.

The rows of the hard constraints come first, then those of the soft ones. Where nothing is hard, the total mass is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray, Table
from purtensor.constraints.consistency import check_consistency, check_totals
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.rank.independence import independent_rows
from purtensor.constraints.slabs import in_slab_order
from purtensor.constraints.system import Reduction, System, align, reduce_system
from purtensor.errors import InfeasibleError
from purtensor.solving.hessian.arrowhead import build_arrowhead
from purtensor.solving.hessian.bipartite import build_bipartite
from purtensor.solving.hessian.choice import estimate
from purtensor.solving.hessian.conjugate import Conjugate
from purtensor.solving.hessian.dense import build_dense
from purtensor.solving.hessian.factored import Hessian
from purtensor.solving.problem import Problem
from purtensor.solving.scaling import exponent_to_unit, scaled_targets
from purtensor.tables.coded import CodedTable, encode

_CONJUGATE_ACCURACY = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class SoftProblem:
    """A problem on arrays with hard and soft rows.

    Attributes
    ----------
    problem
        All rows, the hard ones first.
    hard
        The hard rows alone, on the same profiles in an order of its own.
    order
        Shape (M,): where the profiles of `hard` stand among those of `problem`.
    rows
        The soft rows that have a profile; those without keep the marginal 0 whatever happens.
    hessian
        C diag(p) C^T with a ridge, on independent hard rows and on `rows`.
    """

    problem: Problem
    hard: Problem
    order: IntArray
    rows: IntArray
    hessian: Hessian

    @property
    def hard_count(self) -> int:
        """The number of hard rows; the others follow them."""
        return self.hard.system.rows

    @property
    def soft_targets(self) -> FloatArray:
        """The targets of `rows`."""
        return self.problem.targets[self.rows]


@dataclass(frozen=True, slots=True, eq=False)
class LabelledSoftProblem:
    """A soft problem with its way back to the labels.

    Attributes
    ----------
    coded
        The reference on its support.
    full
        The constraints on the whole support in the targets' own units, the hard ones first; without the total mass.
    reduction
        What is left of `full` without the profiles that must be empty.
    profiles
        Shape (M,): where in the reference's support each profile of `arrays` stands.
    arrays
        The problem that is solved.
    added
        The number of constraints in front of the first one of `full`: 1 where the total mass alone is hard.
    reference_exponent, target_exponent
        The reference and the targets were divided by two to these powers.
    """

    coded: CodedTable
    full: System
    reduction: Reduction
    profiles: IntArray
    arrays: SoftProblem
    added: int
    reference_exponent: int
    target_exponent: int


def build_soft_problem(
    reference: Table, hard: Sequence[Marginal], soft: Sequence[Marginal], *, empties: bool
) -> LabelledSoftProblem:
    """Return the problem of a reference with hard and soft constraints as arrays.

    Parameters
    ----------
    empties
        Whether a soft target of 0 empties its profiles, as a hard one does.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError
        As the tables and constraints deserve; soft targets may contradict others, but not in their total.
    InfeasibleError
        A positive hard target whose row has no profile left.
    """
    coded = encode(reference)
    if hard:
        check_consistency(hard)
    check_totals([*hard, *soft])
    full = align(coded, [*hard, *soft])
    reduction = _reduced(full, len(hard), empties=empties)
    _require_support(full, reduction, len(hard))
    system = reduction.system if hard else _with_total(reduction.system)
    system, slabs, order = in_slab_order(system)
    profiles = reduction.profiles[order]
    values = coded.values[profiles]
    reference_exponent = exponent_to_unit(values)
    target_exponent = math.frexp(float(system.targets[system.block(0)].sum()))[1]
    system = system.with_targets(scaled_targets(system.targets, target_exponent))
    total = float(system.targets[system.block(0)].sum())
    problem = Problem(np.ldexp(values, -reference_exponent), system, total, slabs)
    arrays = split_problem(problem, max(1, len(hard)))
    added = 0 if hard else 1
    return LabelledSoftProblem(coded, full, reduction, profiles, arrays, added, reference_exponent, target_exponent)


def split_problem(problem: Problem, hard: int) -> SoftProblem:
    """Return a problem whose first `hard` constraints must be met and whose others need not."""
    own = _first_constraints(problem.system, hard)
    own, slabs, order = in_slab_order(own)
    alone = Problem(np.ascontiguousarray(problem.reference[order]), own, problem.total, slabs)
    soft = problem.system.supported()
    soft[: own.rows] = False
    return SoftProblem(problem, alone, order, np.flatnonzero(soft), _ridged_hessian(problem, hard, soft))


def _ridged_hessian(problem: Problem, hard: int, soft: BoolArray) -> Hessian:
    """Return the cheapest form of C diag(p) C^T with a ridge on the soft rows."""
    system, slabs = problem.system, problem.slabs
    cost = estimate(problem.system, problem.slabs)
    if cost.conjugate < min(cost.arrowhead, cost.dense):
        return Conjugate(system, "conjugate gradients", relative=_CONJUGATE_ACCURACY)
    own = _first_constraints(system, hard)
    kept = soft.copy()
    kept[independent_rows(own, None if slabs is None else slabs.key).rows] = True
    if slabs is None or cost.dense < cost.arrowhead:
        return build_dense(system, np.flatnonzero(kept))
    crossing = build_bipartite(system, slabs, kept) if max(slabs.inside) < hard else None
    return crossing or build_arrowhead(system, slabs, kept)


def _first_constraints(system: System, count: int) -> System:
    rows = int(system.offsets[count])
    return replace(
        system,
        index=system.index[:count],
        offsets=system.offsets[: count + 1],
        targets=system.targets[:rows],
        scopes=system.scopes[:count],
        row_codes=system.row_codes[:count],
    )


def _reduced(full: System, hard: int, *, empties: bool) -> Reduction:
    """Return the system without the profiles that targets of 0 empty, and without these rows."""
    if empties:
        return reduce_system(full)
    counted = full.targets.copy()
    soft = slice(int(full.offsets[hard]), None)
    counted[soft] = np.where(counted[soft] == 0.0, 1.0, counted[soft])
    found = reduce_system(full.with_targets(counted))
    return replace(found, system=found.system.with_targets(full.targets[found.rows]))


def _require_support(full: System, reduction: Reduction, hard: int) -> None:
    system = reduction.system
    bare = np.flatnonzero(~system.supported()[: int(system.offsets[hard])])
    if len(bare) == 0 and system.profiles:
        return
    if len(bare) == 0:
        raise InfeasibleError("no distribution meets the hard constraints: targets of 0 empty every profile")
    row = int(reduction.rows[bare[0]])
    why = "targets of 0 empty every profile of it" if full.supported()[row] else "the reference has no profile there"
    raise InfeasibleError(
        f"no distribution meets the hard constraints: {full.row_label(row)} needs {full.targets[row]:g}, but its "
        f"support is empty: {why}; make that constraint soft"
    )


def _with_total(system: System) -> System:
    """Return the system with the total mass as its first constraint."""
    total = float(system.targets[system.block(0)].sum())
    return replace(
        system,
        index=np.vstack([np.zeros((1, system.profiles), system.index.dtype), system.index]),
        offsets=np.concatenate([[0], system.offsets + 1]),
        targets=np.concatenate([[total], system.targets]),
        scopes=((), *system.scopes),
        row_codes=((), *system.row_codes),
    )
