"""A projection in the solver's arrays again, whether its solver has just ended or it was read from a file."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.engine import engine_for
from purtensor.projection.evidence import SolverEvidence
from purtensor.projection.labels import potentials_from
from purtensor.projection.log_reference import IN_MASS, problem_of
from purtensor.solving.iterate import Iterate, iterate_at
from purtensor.solving.problem import LabelledProblem

if TYPE_CHECKING:
    from purtensor.projection.result import Projection

Function = TypeVar("Function", bound=Callable[..., Any])


def in_its_engine(function: Function) -> Function:
    """Return a function of a projection whose kernels run in numpy where those of the projection itself would."""

    @wraps(function)
    def chosen(result: Any, *arguments: Any, **options: Any) -> Any:
        profiles = getattr(getattr(result, "reference", None), "size", 0)  # what is not a projection is refused inside
        with engine_for(profiles * len(getattr(result, "constraints", ()))):
            return function(result, *arguments, **options)

    return cast(Function, chosen)


def solved_arrays(result: Projection[Any]) -> tuple[LabelledProblem, FloatArray]:
    """Return the problem that was solved, on its face where there is one, and the masses of the projection."""
    labelled, point = solved_point(result)
    return labelled, point.masses


def solved_point(result: Projection[Any]) -> tuple[LabelledProblem, Iterate]:
    """Return the problem that was solved, on its face where there is one, and where its solver ended."""
    evidence = result.evidence
    if isinstance(evidence, SolverEvidence):
        return evidence.labelled, evidence.run.iterate
    empty = 0.0 if result.reference_in == IN_MASS else -np.inf
    reference = result.reference.copy(data=np.where(result.table.values > 0, result.reference.values, empty))
    labelled = problem_of(result, reference)
    return labelled, iterate_at(labelled.arrays, potentials_from(labelled, result.potentials))
