"""The answer of a relaxation, with its evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from purtensor._printing import Shown
from purtensor._typing import FloatArray, Table
from purtensor.constraints.marginals import Marginal
from purtensor.feasibility.diagnose import Diagnosis
from purtensor.kernels.divergence import divergence_sum
from purtensor.kernels.ipf.steps import sum_rows
from purtensor.projection.result import washed_out
from purtensor.solving.certificate import Certificate
from purtensor.solving.gauge import canonical_potentials
from purtensor.solving.soft_ascent import SoftEnding, SoftRun
from purtensor.solving.soft_penalty import Absolute, Squares
from purtensor.solving.soft_problem import LabelledSoftProblem
from purtensor.tables.coded import like


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Relaxation(Shown):
    """A distribution that meets the hard constraints and comes as close to the soft ones as it was worth.

    Attributes
    ----------
    table
        The distribution, in the layout and with the profiles of the reference; its total is that of the targets.
    termination, converged
        How it ended, and whether `table` is the answer to the tolerance.
    objective
        divergence + strength * penalty_paid.
    divergence
        KL divergence of `table` from the reference, in nats.
    penalty_paid
        The sum of the soft constraints' penalties, without the strength.
    misses
        One table a constraint: reached minus target, in the units of the targets.
    misses_l1
        One number a constraint: the sum of its absolute misses, the total mass being 1. Of a soft parity it is the L1
        parity violation.
    multipliers
        One table a constraint, in nats: `table` is the reference times the exp of their sum over the constraints, up
        to a constant factor where every constraint is soft. A soft one's is -strength * log(reached / target) for
        "kl", strength * (target - reached) for "quadratic" with totals of 1; for "l1" it is the strength where too
        little is reached, minus the strength where too much is, and between them where the target is met. Zero on
        dependent rows of hard constraints, -inf where a target of 0 empties its profiles.
    residual, residual_l1
        The largest miss over all hard constraints, and the sum of misses in the worst of them, total mass 1.
    certified, bound, tv_bound
        Proved: the objective is within `bound` nats of the least, and `table` within `tv_bound` of the exact answer
        in total variation; inf and 1 where nothing is proved.
    iterations, seconds
        Newton steps, and the time of the solve.
    notes
        What was done that a reader should know.
    diagnosis
        The verdict on the hard constraints, where one was needed.
    soft, penalty, strength
        The positions of the soft constraints, and what was asked.
    reference, constraints
        What was relaxed; not copied.
    """

    table: Table = field(repr=False)
    termination: SoftEnding
    objective: float
    divergence: float
    penalty_paid: float
    misses: tuple[Table, ...] = field(repr=False)
    misses_l1: tuple[float, ...]
    multipliers: tuple[Table, ...] = field(repr=False)
    residual: float
    residual_l1: float
    certified: bool
    bound: float
    tv_bound: float
    iterations: int
    seconds: float
    notes: tuple[str, ...]
    diagnosis: Diagnosis | None = field(repr=False)
    soft: tuple[int, ...]
    penalty: str
    strength: float
    reference: Table = field(repr=False)
    constraints: tuple[Marginal, ...] = field(repr=False)

    @property
    def converged(self) -> bool:
        """Whether `table` is the answer to the tolerance."""
        return self.termination is SoftEnding.CONVERGED

    def summary(self) -> dict[str, str]:
        """Return the facts about this answer as text, one line each."""
        scopes = [" x ".join(constraint.scope) for constraint in self.constraints]
        return {
            "ending": self.termination.value,
            "objective": f"{self.objective:.9g} nats, {self.divergence:.9g} of divergence",
            **{f"missed of {scopes[k]}": f"{self.misses_l1[k]:.9g} (L1), soft" for k in self.soft},
            "residual": f"{self.residual:.2e} (largest of the hard constraints), {self.residual_l1:.2e} (L1)",
            "proved": f"objective <= {self.bound:.2e} nats, TV <= {self.tv_bound:.2e}" if self.certified else "nothing",
            "washed out": washed_out(self.reference),
            "iterations": f"{self.iterations} in {self.seconds:.3g} s",
            "notes": "; ".join(self.notes),
        }


def make_relaxation(
    reference: Table,
    constraints: tuple[Marginal, ...],
    positions: tuple[tuple[int, ...], tuple[int, ...]],
    labelled: LabelledSoftProblem,
    run: SoftRun,
    proof: Certificate,
    *,
    penalty: str,
    strength: float,
    seconds: float,
    diagnosis: Diagnosis | None,
) -> Relaxation:
    """Return the labelled answer of a run; `positions` are those of the hard and of the soft constraints."""
    hard, soft = positions
    masses = _on_support(labelled, run)
    misses = _missed(labelled, masses)
    total = math.ldexp(labelled.arrays.problem.total, labelled.target_exponent)
    order = np.argsort([*hard, *soft])
    ordered = [constraints[k] for k in (*hard, *soft)]
    tables = [_labelled(labelled, k, constraint, misses, "miss") for k, constraint in enumerate(ordered)]
    multipliers = _multipliers(labelled, run, penalty, strength)
    paid = _paid(labelled, misses, len(hard), penalty, total)
    divergence = _divergence(masses, labelled.coded.values)
    return Relaxation(
        table=relaxed_table(labelled, run),
        termination=run.ending,
        objective=divergence + strength * paid,
        divergence=divergence,
        penalty_paid=paid,
        misses=tuple(tables[k] for k in order),
        misses_l1=tuple(float(np.abs(misses[labelled.full.block(int(k))]).sum()) / total for k in order),
        multipliers=tuple(_labelled(labelled, int(k), ordered[k], multipliers, "multiplier") for k in order),
        residual=run.residual.largest,
        residual_l1=run.residual.l1,
        certified=proof.certified,
        bound=proof.bound,
        tv_bound=proof.tv_bound,
        iterations=run.iterations,
        seconds=seconds,
        notes=_notes(labelled, run, penalty, strength),
        diagnosis=diagnosis,
        soft=soft,
        penalty=penalty,
        strength=strength,
        reference=reference,
        constraints=constraints,
    )


def relaxed_table(labelled: LabelledSoftProblem, run: SoftRun) -> Table:
    """Return the masses of a run as a table like the reference, with the targets' total and exact zeros."""
    return labelled.coded.rebuild(_on_support(labelled, run), name="relaxation")


def _on_support(labelled: LabelledSoftProblem, run: SoftRun) -> FloatArray:
    masses = np.zeros(len(labelled.coded.values))
    masses[labelled.profiles] = np.ldexp(run.point.masses, labelled.target_exponent)
    return masses


def _missed(labelled: LabelledSoftProblem, masses: FloatArray) -> FloatArray:
    """Return reached minus target for every row of the full system, in the targets' units."""
    full = labelled.full
    reached = np.empty(full.rows)
    for k in range(len(full.scopes)):
        sum_rows(masses, full.index[k], reached[full.block(k)])
    return reached - full.targets


def _labelled(labelled: LabelledSoftProblem, k: int, constraint: Marginal, values: FloatArray, name: str) -> Table:
    full = labelled.full
    domain = full.domain.select(full.scopes[k])
    return like(constraint.target, domain, full.row_codes[k], values[full.block(k)], name=name)


def _multipliers(labelled: LabelledSoftProblem, run: SoftRun, penalty: str, strength: float) -> FloatArray:
    """Return the multipliers of all rows of the full system, relative to reference and targets as given."""
    soft, full = labelled.arrays, labelled.full
    potentials = run.point.potentials.copy()
    potentials[: soft.hard_count] = canonical_potentials(soft.hard, potentials[: soft.hard_count])
    values = np.full(full.rows, -np.inf)
    rows = labelled.reduction.rows
    values[rows] = _unsupported(labelled, run, penalty, strength)[rows]
    known = soft.problem.system.supported()[labelled.added :]
    values[rows[known]] = potentials[labelled.added :][known]
    if not labelled.added:
        shift = (labelled.target_exponent - labelled.reference_exponent) * math.log(2.0)
        values[full.block(0)] += shift
    return values


def _unsupported(labelled: LabelledSoftProblem, run: SoftRun, penalty: str, strength: float) -> FloatArray:
    """Return the multipliers of soft rows without a profile: nothing can be reached there."""
    targets = labelled.full.targets
    if penalty != "quadratic":
        return np.where(targets > 0.0, np.inf if penalty == "kl" else run.level, 0.0)
    return strength * targets / math.ldexp(labelled.arrays.problem.total, labelled.target_exponent)


def _paid(labelled: LabelledSoftProblem, misses: FloatArray, hard: int, penalty: str, total: float) -> float:
    """Return the penalty of the soft rows, without the strength."""
    full = labelled.full
    rows = slice(int(full.offsets[hard]), None)
    targets, sums = full.targets[rows] / total, (full.targets[rows] + misses[rows]) / total
    if penalty == "kl":
        positive = targets > 0.0
        return divergence_sum(np.maximum(sums[positive], 0.0), targets[positive], 1.0, 1.0)
    cost = Absolute(1.0) if penalty == "l1" else Squares(1.0)
    return cost.cost(targets, sums)


def _divergence(p: FloatArray, q: FloatArray) -> float:
    """Return D(p || q) of the masses divided by their totals."""
    return max(0.0, divergence_sum(p, q, float(p.sum()), float(q.sum())))


def _notes(labelled: LabelledSoftProblem, run: SoftRun, penalty: str, strength: float) -> tuple[str, ...]:
    notes = [labelled.arrays.hessian.note]
    if penalty == "l1" and run.ending is SoftEnding.CONVERGED and run.level < strength:
        notes.append(
            f"the misses have their smallest sum at strength {run.level:g} already, where table and multipliers were "
            "computed: a larger one changes no mass"
        )
    empty = len(labelled.coded.values) - len(labelled.profiles)
    if empty:
        notes.append(f"targets of 0 empty {empty} profiles")
    return tuple(notes)
