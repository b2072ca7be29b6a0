"""A projection in the solver's arrays again, whether its solver has just ended or it was read from a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from purtensor._typing import BoolArray, FloatArray, Table
from purtensor.constraints.marginals import StoredMarginal
from purtensor.feasibility.face_rounding import rounding_of_rows
from purtensor.kernels.engine import engine_for
from purtensor.projection.evidence import SolverEvidence
from purtensor.projection.labels import potentials_from
from purtensor.projection.log_reference import IN_MASS, problem_of
from purtensor.solving.iterate import Iterate, iterate_at
from purtensor.solving.log_ratio import log_ratio_bound
from purtensor.solving.problem import LabelledProblem, build_problem
from purtensor.solving.spaces.arrays import ArraySpace
from purtensor.tables.coded import encode
from purtensor.tables.memory import available_memory
from purtensor.tables.translate import values_at

if TYPE_CHECKING:
    from purtensor.projection.result import Projection

Function = TypeVar("Function", bound=Callable[..., Any])

_BYTES_OF_A_PROFILE = 1000
_USUAL = range(3)  # constraints of a table that come later
# up to here sums of whole numbers are exact in any order
_LARGEST_WHOLE = 2.0**53


def in_its_engine(function: Function) -> Function:
    """Return a function of a projection, or of a table, whose kernels run in numpy where a projection's own would."""

    @wraps(function)
    def run_chosen(result: Any, *arguments: Any, **options: Any) -> Any:
        profiles = getattr(getattr(result, "reference", result), "size", 0)  # what is neither is refused inside
        with engine_for(profiles * len(getattr(result, "constraints", _USUAL))):
            return function(result, *arguments, **options)

    return cast(Function, run_chosen)


def arrays_of(result: Projection[Any]) -> tuple[LabelledProblem, FloatArray]:
    """Return the problem that was solved, on its face where there is one, and the masses of the projection."""
    labelled, point = point_of(result)
    return labelled, point.masses


def gather_point(result: Projection[Any]) -> tuple[LabelledProblem, Iterate, float] | None:
    """Return the problem of a projection on disk in memory, its point, and how far that is from the table, in nats.

    None where memory does not hold it, or where targets are sums of a stored table's fractions: these depend on the
    order in which they are added, and the problem in memory would be another one.
    """
    if result.reference.profiles * _BYTES_OF_A_PROFILE > available_memory():
        return None
    stored = [own.table for own in result.constraints if isinstance(own, StoredMarginal)]
    if not all(_is_whole(table.to_table().values) for table in stored):
        return None
    reference = result.reference.to_table()
    coded = encode(reference)
    table = values_at(result.table.to_table(), coded.domain, coded.codes)
    values = np.zeros(reference.size)
    # on the face: profiles that the projection empties are no part of the problem
    values[coded.positions] = np.where(table > 0, coded.values, 0)
    constraints = [own.in_memory() if isinstance(own, StoredMarginal) else own for own in result.constraints]
    labelled = build_problem(reference.copy(data=values.reshape(reference.shape)), constraints)
    if result.independent_rows is not None:
        # each part has chosen its rows by its masses: the bound is about these
        arrays = labelled.arrays
        labelled = replace(
            labelled,
            arrays=replace(
                arrays, face_rounding=rounding_of_rows(arrays, _rows_by_label(labelled, result.independent_rows))
            ),
        )
    point = iterate_at(labelled.arrays, potentials_from(labelled, result.potentials))
    masses = np.ldexp(point.masses, labelled.target_exponent)
    with np.errstate(all="ignore"):
        apart = float(np.abs(np.log(table[table > 0][labelled.profiles] / masses)).max())
    return labelled, point, apart + 4 * float(np.finfo(np.float64).eps)


def _rows_by_label(labelled: LabelledProblem, tables: Sequence[Table]) -> BoolArray:
    """Return which rows of a problem tables of True and False name, one per constraint."""
    full = labelled.full
    named = [
        values_at(table.astype(np.float64), full.domain.select(scope), codes)
        for table, scope, codes in zip(tables, full.scopes, full.row_codes, strict=True)
    ]
    return np.asarray(np.concatenate(named)[labelled.rows] != 0.0)


def _is_whole(values: FloatArray) -> bool:
    return bool(np.all(values == np.rint(values)) and values.sum() < _LARGEST_WHOLE)


def point_of(result: Projection[Any]) -> tuple[LabelledProblem, Iterate]:
    """Return the problem that was solved, on its face where there is one, and where its solver ended."""
    evidence = result.evidence
    if isinstance(evidence, SolverEvidence):
        return evidence.labelled, evidence.run.iterate
    empty = 0.0 if result.reference_in == IN_MASS else -np.inf
    reference = result.reference.copy(data=np.where(result.table.values > 0, result.reference.values, empty))
    labelled = problem_of(result, reference)
    return labelled, iterate_at(labelled.arrays, potentials_from(labelled, result.potentials))


def bound_log_ratio(result: Projection[Any]) -> float:
    """Return the proved bound on |log(q / table)| of a projection onto marginals; inf where nothing is proved."""
    in_memory = isinstance(result.reference, Table)
    # a result from a file has lost what the run knew of its zeros: a finite bound says that none is missing
    is_proved = isinstance(result.evidence, SolverEvidence) or result.bound < np.inf
    if not is_proved and not (in_memory and bool(result.table.all())):
        return float("inf")  # zeros of the table may be none of the exact projection
    found = (*point_of(result), 0.0) if in_memory else gather_point(result)
    if found is None:
        return float("inf")
    labelled, point, apart = found
    # of the point in memory, plus how far the table on disk is from it
    return log_ratio_bound(ArraySpace(labelled.arrays), point) + apart
