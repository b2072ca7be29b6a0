"""The nearest distribution when the constraints conflict: some hold, the others are approached."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from purtensor._options import check_choice, is_count, is_number
from purtensor._typing import Table
from purtensor.constraints.marginals import Constraints, Marginal, as_constraints
from purtensor.constraints.positions import soft_positions
from purtensor.errors import InfeasibleError, InvalidOptionError, NotConvergedError, NotConvergedWarning
from purtensor.feasibility.diagnose import Diagnosis, diagnose
from purtensor.feasibility.verdict import Verdict
from purtensor.kernels.compiling import wall_clock
from purtensor.projection.lazy_verdict import explained
from purtensor.projection.relaxation import Relaxation, make_relaxation
from purtensor.solving.certificate import UNPROVED
from purtensor.solving.soft_ascent import SoftEnding, SoftRun
from purtensor.solving.soft_certificate import certify_soft
from purtensor.solving.soft_penalty import Absolute, Divergence, Penalty, Squares
from purtensor.solving.soft_problem import LabelledSoftProblem, SoftProblem, build_soft_problem
from purtensor.solving.soft_solve import relax_absolutely, relax_smoothly

PENALTIES = ("kl", "l1", "quadratic")
"""The words for `penalty`."""

_MOST_ITERATIONS = 2000


def relax(
    reference: Table,
    constraints: Constraints,
    *,
    soft: Any,
    penalty: str = "kl",
    strength: float = 1.0,
    tolerance: float = 1e-10,
    max_iterations: int | None = None,
    on_failure: str = "raise",
) -> Relaxation:
    """Return the nearest distribution that meets the hard constraints and pays for the soft ones it misses.

    It minimizes D(p || reference) + strength * penalty over the distributions p that meet every constraint not named
    in `soft`. With p_k the marginal of p over the scope of a soft constraint and b_k its target, all of total 1, the
    penalty is the sum over the soft constraints of

    - "kl": D(p_k || b_k), in nats; a target of 0 empties its profiles, as in `project`;
    - "l1": sum |p_k - b_k|. From some strength on the sum is the smallest there is (the value of the linear program),
      and 0 where the constraints can all be met;
    - "quadratic": half of sum (p_k - b_k)^2.

    As the strength grows the answer tends to the projection onto all constraints, where there is one. Ctrl-C ends the
    call with the state so far, of which nothing is proved.

    Parameters
    ----------
    reference, constraints
        As in `project`. Soft targets may contradict other targets, but not in their total.
    soft
        One or more of the constraints: the Marginal objects themselves, or their positions in the flattened
        constraints, from 0 on.
    penalty
        "kl", "l1" or "quadratic".
    strength
        What one unit of the penalty is worth, in nats of divergence; positive and finite.
    tolerance
        The hard constraints are met as in `project`; the soft marginals are those that the multipliers ask for, to
        the same tolerance, and with "l1" the objective is within its square of the least.
    max_iterations
        The most Newton steps; 2,000 when None.
    on_failure
        What happens where the answer is not reached: "raise", "warn" or "return".

    Returns
    -------
    Relaxation
        The table with what is reached of each constraint, the multipliers, and a proved bound.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError, InvalidOptionError
        Before any solve, naming what does not fit.
    InfeasibleError
        No distribution on the support meets the hard constraints.
    NotConvergedError
        The answer is not reached; it carries the Relaxation so far.

    Examples
    --------
    >>> import purtensor as pt
    >>> problem = pt.problems.proxy(0.01)          # parity is out of reach with utility and realism
    >>> relaxed = pt.relax(problem.reference, problem.constraints, soft=0, penalty="l1", strength=100)
    >>> round(relaxed.misses_l1[0], 6), relaxed.residual < 1e-10
    (0.296296, True)
    """
    flat = as_constraints(constraints)
    chosen = soft_positions(flat, soft)
    _check_options(penalty, strength, tolerance, max_iterations, on_failure)
    hard = tuple(k for k in range(len(flat)) if k not in chosen)
    labelled = build_soft_problem(
        reference, [flat[k] for k in hard], [flat[k] for k in chosen], empties=penalty == "kl"
    )
    most = _MOST_ITERATIONS if max_iterations is None else max_iterations
    feasibility = _Hard(labelled, [flat[k] for k in hard])
    started = wall_clock()
    run, cost = _solved(labelled.arrays, penalty, float(strength), tolerance, most, feasibility.is_hopeless)
    seconds = wall_clock() - started
    try:
        if run.ending in (SoftEnding.STALLED, SoftEnding.NOT_FINITE) and feasibility.is_hopeless():
            run = replace(run, ending=SoftEnding.INFEASIBLE)
    except KeyboardInterrupt:
        run = replace(run, ending=SoftEnding.INTERRUPTED)
    hurried = run.ending is SoftEnding.INTERRUPTED  # whoever pressed Ctrl-C waits
    proof = UNPROVED if hurried else certify_soft(labelled.arrays, run.point, cost)
    result = make_relaxation(
        reference,
        flat,
        (hard, chosen),
        labelled,
        run,
        proof,
        penalty=penalty,
        strength=float(strength),
        seconds=seconds,
        diagnosis=feasibility.diagnosis,
    )
    return _delivered(result, on_failure)


@dataclass(slots=True)
class _Hard:
    """The hard constraints on the profiles that may have mass, and whether they can be met."""

    labelled: LabelledSoftProblem
    constraints: Sequence[Marginal]
    diagnosis: Diagnosis | None = None

    def is_hopeless(self) -> bool:
        """Return whether it is proved that nothing meets the hard constraints; found out on the first call."""
        return bool(self.constraints) and self.diagnosed().verdict is Verdict.INFEASIBLE

    def diagnosed(self) -> Diagnosis:
        """Return the diagnosis, made on the first call."""
        if self.diagnosis is None:
            coded, profiles = self.labelled.coded, self.labelled.profiles
            values = np.zeros(len(coded.values))
            values[profiles] = coded.values[profiles]
            self.diagnosis = diagnose(coded.rebuild(values), self.constraints)
        return self.diagnosis


def diagnosis_of_hard(
    reference: Table, constraints: Sequence[Marginal], soft: Sequence[int], penalty: str
) -> Diagnosis:
    """Return the verdict on the constraints that are not soft, on the profiles that the penalty leaves."""
    hard = [constraint for k, constraint in enumerate(constraints) if k not in soft]
    missed = [constraints[k] for k in soft]
    return _Hard(build_soft_problem(reference, hard, missed, empties=penalty == "kl"), hard).diagnosed()


def _solved(
    soft: SoftProblem,
    penalty: str,
    strength: float,
    tolerance: float,
    max_iterations: int,
    is_hopeless: Callable[[], bool],
) -> tuple[SoftRun, Penalty]:
    """Return the run and the penalty at the strength that it reached."""
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        if penalty == "l1":
            run = relax_absolutely(
                soft, strength, tolerance=tolerance, max_iterations=max_iterations, is_hopeless=is_hopeless
            )
            return run, Absolute(run.level)
        make = Divergence if penalty == "kl" else _squares_of(soft)
        run = relax_smoothly(
            soft, make, strength, tolerance=tolerance, max_iterations=max_iterations, is_hopeless=is_hopeless
        )
        return run, make(run.level)


def _squares_of(soft: SoftProblem) -> Any:
    """Return the maker of squared misses for targets of total 1, on masses of the problem's total."""
    return lambda strength: Squares(strength / soft.problem.total)


def _check_options(
    penalty: str, strength: float, tolerance: float, max_iterations: int | None, on_failure: str
) -> None:
    check_choice("penalty", penalty, PENALTIES)
    check_choice("on_failure", on_failure, ("raise", "warn", "return"))
    if not (is_number(strength) and 0 < strength < np.inf):
        raise InvalidOptionError(
            f"strength is positive and finite, this is {strength!r}; for constraints that must hold take project"
        )
    if not (is_number(tolerance) and 0 < tolerance < 1):
        raise InvalidOptionError(f"tolerance is a share of the total mass between 0 and 1, this is {tolerance!r}")
    if max_iterations is not None and not is_count(max_iterations):
        raise InvalidOptionError(f"max_iterations is a count, this is {max_iterations!r}")


def _delivered(result: Relaxation, on_failure: str) -> Relaxation:
    if result.converged or on_failure == "return":
        return result
    if result.termination is SoftEnding.INFEASIBLE and on_failure == "raise":
        message = f"the hard constraints cannot be met: {explained(result.diagnosis)}; make another one soft"
        raise InfeasibleError(message, result.diagnosis)
    message = (
        f"not converged after {result.iterations} iterations: {result.termination.value}; residual of the hard "
        f"constraints {result.residual:.2e}, {result.residual_l1:.2e} in L1, total mass 1"
    )
    if on_failure == "raise":
        raise NotConvergedError(message, result)
    warnings.warn(message, NotConvergedWarning, stacklevel=3)
    return result
