"""The nearest distribution when the constraints conflict: some hold, the others are approached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from purtensor._options import check_choice, is_number
from purtensor._typing import Table
from purtensor.constraints.consistency import check_consistency, check_totals
from purtensor.constraints.marginals import Constraints, Marginal, as_constraints
from purtensor.constraints.soft import soft as made_soft
from purtensor.constraints.soft import soft_positions
from purtensor.errors import InfeasibleError, InvalidOptionError, NotConvergedError, PurtensorError
from purtensor.feasibility.diagnose import diagnose_table
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.verdict import Verdict
from purtensor.projection.deliver import ending_in_words, raise_or_warn
from purtensor.projection.general import run_general
from purtensor.projection.lazy_verdict import explain
from purtensor.projection.options import iterations_of, refuse_changes
from purtensor.projection.relaxation import Relaxation, make_relaxation
from purtensor.solving.dual.labelled import LabelledQuestion, build_question
from purtensor.solving.dual.options import GeneralOptions
from purtensor.solving.dual.prepare import find_emptied
from purtensor.solving.termination import Termination

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
    """Return the distribution that meets the hard constraints and minimises divergence plus penalties of the soft ones.

    It minimizes D(p || reference) + strength * penalty over the distributions p that meet every constraint not named
    in `soft`. With p_k the marginal of p over the scope of a soft constraint and b_k its target, all of total 1, the
    penalty is the sum over the soft constraints of

    - "kl": D(p_k || b_k), in nats; a target of 0 empties its profiles, as in `project`;
    - "l1": sum |p_k - b_k|. Above some strength the sum is the smallest possible (the value of the linear program),
      and 0 if all constraints can be met;
    - "quadratic": half of sum (p_k - b_k)^2.

    As the strength grows the answer tends to the projection onto all constraints, if it exists. Ctrl-C ends the call
    with the current state, without a certificate.

    Parameters
    ----------
    reference, constraints
        As in `project`. Soft targets may contradict other targets, but must have the same total.
    soft
        One or more of the constraints: the Marginal objects themselves, or their positions in the flattened
        constraints, from 0 on.
    penalty
        "kl", "l1" or "quadratic".
    strength
        The weight of one unit of the penalty, in nats of divergence; positive and finite.
    tolerance
        The hard constraints are met as in `project`; the soft marginals are those that the multipliers ask for, to
        the same tolerance, and with "l1" the objective is within its square of the least.
    max_iterations
        The largest number of Newton steps; 2,000 when None.
    on_failure
        What to do if the answer is not reached: "raise" an error, "warn", or "return" the current state.

    Returns
    -------
    Relaxation
        The table with the misses of each constraint, the multipliers, and a proved bound.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError, InvalidOptionError
        The input is invalid; raised before any solve, with the name of the fault. Or a table was changed meanwhile.
    InfeasibleError
        No distribution on the support meets the hard constraints.
    NotConvergedError
        The answer is not reached; the error carries the current Relaxation.

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
    _check_options(penalty, strength, tolerance, on_failure)
    with refuse_changes(reference, flat):
        labelled = build_relaxation(reference, flat, chosen, penalty, float(strength))
        run = run_general(
            labelled,
            tolerance=tolerance,
            stop_on="residual",
            max_iterations=_MOST_ITERATIONS if max_iterations is None else iterations_of(max_iterations),
            max_seconds=float("inf"),
            certificate=True,
        )
        diagnosis = None
        # only hard constraints can be infeasible: a soft one may be missed by as much as it takes
        if run.answer.termination in (Termination.STALLED, Termination.INFEASIBLE, Termination.NOT_FINITE):
            try:
                diagnosis = diagnosis_of_hard(reference, flat, chosen, penalty)
            except KeyboardInterrupt:
                run = run.end_with(Termination.INTERRUPTED)
            if diagnosis is not None and diagnosis.verdict is Verdict.INFEASIBLE:
                run = run.end_with(Termination.INFEASIBLE)
    result = make_relaxation(reference, run, chosen, penalty, float(strength), diagnosis)
    return raise_or_warn(result, on_failure, _refusal_of, stacklevel=3)


def build_relaxation(
    reference: Table, constraints: Sequence[Marginal], soft: Sequence[int], penalty: str, strength: float
) -> LabelledQuestion:
    """Return the problem in which the constraints at the positions `soft` may be violated at a cost."""
    hard = [constraint for k, constraint in enumerate(constraints) if k not in soft]
    # a soft target may contradict others: only the hard ones have to agree
    if hard:
        check_consistency(hard)
    check_totals(constraints)  # soft targets may contradict others, but not in their total
    asked = [
        made_soft(constraint, penalty=penalty, strength=strength) if k in soft else constraint
        for k, constraint in enumerate(constraints)
    ]
    # where all are soft nothing fixes the total: the first target's is taken
    return build_question(reference, asked, GeneralOptions(total="constrained" if hard else constraints[0].total))


def diagnosis_of_hard(
    reference: Table, constraints: Sequence[Marginal], soft: Sequence[int], penalty: str
) -> Diagnosis | None:
    """Return the verdict on the constraints that are not soft, on the profiles that the penalty leaves."""
    hard = [constraint for k, constraint in enumerate(constraints) if k not in soft]
    if not hard:
        return None
    labelled = build_relaxation(reference, constraints, soft, penalty, 1.0)
    # soft zero targets of "kl" empty their profiles like hard ones do
    keep, _ = find_emptied(labelled.question)
    return diagnose_table(labelled.coded.rebuild(np.where(keep, labelled.coded.values, 0.0)), hard)


def _check_options(penalty: str, strength: float, tolerance: float, on_failure: str) -> None:
    check_choice("penalty", penalty, PENALTIES)
    check_choice("on_failure", on_failure, ("raise", "warn", "return"))
    if not (is_number(strength) and 0 < strength < np.inf):
        raise InvalidOptionError(
            f"strength must be positive and finite, got {strength!r}; for constraints that must hold take project"
        )
    if not (is_number(tolerance) and 0 < tolerance < 1):
        raise InvalidOptionError(f"tolerance must be a share of the total mass between 0 and 1, got {tolerance!r}")


def _refusal_of(result: Relaxation) -> PurtensorError:
    """Return the error for a relaxation that has not converged."""
    if result.termination is Termination.INFEASIBLE:
        message = f"the hard constraints cannot be met: {explain(result.diagnosis)}; relax another one"
        return InfeasibleError(message, result.diagnosis)
    return NotConvergedError(ending_in_words(result, " of the hard constraints"), result)
