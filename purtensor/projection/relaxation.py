"""The answer of a relaxation, with its evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from purtensor._printing import Shown
from purtensor._typing import FloatArray, Table
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.rows import RowBlock
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.projection.general import GeneralRun
from purtensor.projection.labels import describe_washout
from purtensor.solving.dual.labelled import LabelledQuestion
from purtensor.solving.dual.question import Question, block_costs, penalty_paid
from purtensor.solving.termination import Termination
from purtensor.tables.coded import like

_HARD_INFEASIBLE = "no distribution on the support of the reference meets the hard constraints"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Relaxation(Shown):
    """A distribution that meets the hard constraints and minimises divergence plus penalties of the soft ones.

    Attributes
    ----------
    table
        The distribution, in the layout and with the profiles of the reference; its total is that of the targets.
    termination, converged
        Why the run ended, and whether `table` is the answer to the tolerance.
    objective
        divergence + strength * penalty_paid.
    divergence
        KL divergence of `table` from the reference, in nats.
    penalty_paid
        The sum of the soft constraints' penalties, without the strength.
    misses
        One table per constraint: reached minus target, in the units of the targets.
    misses_l1
        One number per constraint: the sum of its absolute misses, the total mass being 1. Of a soft parity it is the L1
        parity violation.
    multipliers
        One table per constraint, in nats: `table` is the reference times the exp of their sum over the constraints, up
        to a constant factor where every constraint is soft. A soft one's is -strength * log(reached / target) for
        "kl", strength * (target - reached) for "quadratic" with totals of 1; for "l1" it is the strength where too
        little is reached, minus the strength where too much is, and between them where the target is met. Where hard
        rows depend on each other their sum alone is determined; -inf where a target of 0 empties its profiles.
    residual, residual_l1
        The largest miss over all hard constraints, and the sum of misses in the worst of them, total mass 1.
    certified, bound, tv_bound
        Proved: the objective is within `bound` nats of the least, and `table` within `tv_bound` of the exact answer
        in total variation; inf and 1 where nothing is proved.
    iterations, seconds
        Newton steps, and the time of the solve.
    notes
        Remarks on the run.
    diagnosis
        The verdict on the hard constraints, if one was needed.
    soft, penalty, strength
        The positions of the soft constraints, and the options.
    reference, constraints
        The relaxed problem; not copied.
    """

    table: Table = field(repr=False)
    termination: Termination
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
        return self.termination.converged

    @property
    def ending(self) -> str:
        """The ending as a sentence."""
        return _HARD_INFEASIBLE if self.termination is Termination.INFEASIBLE else self.termination.value

    def summary(self) -> dict[str, str]:
        """Return a summary of the answer as named texts."""
        scopes = [" x ".join(constraint.scope) for constraint in self.constraints]
        return {
            "ending": self.ending,
            "objective": f"{self.objective:.9g} nats, {self.divergence:.9g} of divergence",
            **{f"missed of {scopes[k]}": f"{self.misses_l1[k]:.9g} (L1), soft" for k in self.soft},
            "residual": f"{self.residual:.2e} (largest of the hard constraints), {self.residual_l1:.2e} (L1)",
            "proved": f"objective <= {self.bound:.2e} nats, TV <= {self.tv_bound:.2e}" if self.certified else "nothing",
            "washed out": describe_washout(self.reference),
            "iterations": f"{self.iterations} in {self.seconds:.3g} s",
            "notes": "; ".join(self.notes),
        }


def make_relaxation(
    reference: Table,
    run: GeneralRun,
    soft: tuple[int, ...],
    penalty: str,
    strength: float,
    diagnosis: Diagnosis | None,
) -> Relaxation:
    """Return the labelled answer of a run on the question that `relax` asks."""
    labelled, found = run.labelled, run.answer
    # the question is solved in the units of the targets: misses are divided by its total for shares
    question, total = labelled.question, labelled.question.total
    # soft ones are wrapped: labels need the marginal inside
    constraints = tuple(getattr(one, "constraint", one) for one in labelled.constraints)
    # marginals have equal ends: either is the target
    misses = found.sums - question.row_upper
    multipliers = _multipliers(labelled, found.potentials, soft)
    paid = _paid(question, found.sums, strength)
    return Relaxation(
        table=labelled.table(found.masses, "relaxation"),
        termination=found.termination,
        objective=found.divergence + strength * paid,
        divergence=found.divergence,
        penalty_paid=paid,
        misses=_tables(labelled, constraints, misses, "miss"),
        misses_l1=tuple(float(np.abs(misses[question.block(k)]).sum()) / total for k in range(len(constraints))),
        multipliers=_tables(labelled, constraints, multipliers, "multiplier"),
        residual=found.residual,
        residual_l1=found.residual_l1,
        certified=found.certified and found.termination.converged,
        bound=found.bound,
        tv_bound=found.tv_bound,
        iterations=found.iterations,
        seconds=found.seconds,
        notes=found.notes,
        diagnosis=diagnosis,
        soft=soft,
        penalty=penalty,
        strength=strength,
        reference=reference,
        constraints=constraints,
    )


def _tables(
    labelled: LabelledQuestion, constraints: tuple[Marginal, ...], values: FloatArray, name: str
) -> tuple[Table, ...]:
    """Return numbers on the rows as one table per constraint, in category order."""
    question = labelled.question
    return tuple(
        _table(labelled, constraint, question.blocks[k], values[question.block(k)], name)
        for k, constraint in enumerate(constraints)
    )


def _table(labelled: LabelledQuestion, constraint: Marginal, block: RowBlock, values: FloatArray, name: str) -> Table:
    codes = [] if block.index is None else [np.asarray(code) for code in block.index.codes]
    # lexsort takes its last key first
    order = np.lexsort(codes[::-1])
    domain = labelled.coded.domain.select(constraint.scope)
    return like(constraint.target, domain, [code[order] for code in codes], values[order], name=name)


def _multipliers(labelled: LabelledQuestion, potentials: FloatArray, soft: tuple[int, ...]) -> FloatArray:
    """Return the potentials relative to the reference as given: the first hard constraint has its scale."""
    question = labelled.question
    hard = [k for k in range(len(labelled.constraints)) if k not in soft]
    found = potentials.copy()
    if hard:
        # the question scales the reference to the total: for the one given, a hard potential takes the scale in
        found[question.block(hard[0])] += math.log(question.total / float(labelled.coded.values.sum()))
    return found


def _paid(question: Question, sums: FloatArray, strength: float) -> float:
    """Return the penalty of the soft rows, without the strength."""
    paid = 0.0
    for k, block in enumerate(question.blocks):
        costs = block_costs(block, question.total, question.total)
        paid += penalty_paid(block, sums[question.block(k)], costs)
    # costs are in nats times mass, with the strength in them
    return paid / (strength * question.total)
