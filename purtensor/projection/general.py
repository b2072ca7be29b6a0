"""Projections with rows of any kind, bounds, other distances and free totals: from labels to labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from scipy import sparse

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import InfeasibleError, InvalidOptionError
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.row_witness import cells_at_bound, diagnose_rows
from purtensor.feasibility.verdict import Verdict
from purtensor.projection.evidence import InMemory
from purtensor.solving.dual.answer import Answer, answer
from purtensor.solving.dual.labelled import LabelledQuestion, build_question
from purtensor.solving.dual.options import GeneralOptions
from purtensor.solving.dual.question import Question
from purtensor.solving.dual.watch import StepLine
from purtensor.solving.termination import Termination
from purtensor.tables.translate import values_at
from purtensor.verification.row_costs import MixedStatement


@dataclass(frozen=True, eq=False)
class GeneralEvidence(InMemory):
    """The data of a general projection: rows, bounds and run."""

    labelled: LabelledQuestion
    answer: Answer

    @cached_property
    def table(self) -> Table:
        """The projection."""
        return self.labelled.table(self.answer.masses * self.labelled.signs, "projection")

    @cached_property
    def potentials(self) -> tuple[Table, ...]:
        """One array per constraint over `row`, with the label of each: natural logarithms a unit of the row."""
        found = []
        for k, block in enumerate(self.labelled.question.blocks[: len(self.labelled.constraints)]):
            own = self.answer.potentials[self.labelled.question.block(k)]
            found.append(xr.DataArray(own, dims="row", coords={"label": ("row", list(block.labels))}, name="potential"))
        return tuple(found)

    @cached_property
    def trace(self) -> xr.Dataset:
        """The recorded Newton steps."""
        lines = self.answer.lines
        return xr.Dataset(
            {
                "residual": ("record", [line.residual for line in lines], {"long_name": "largest miss, total mass 1"}),
                "seconds": ("record", [line.seconds for line in lines], {"long_name": "seconds since the start"}),
            },
            coords={"iteration": ("record", [line.iteration for line in lines])},
        )

    @cached_property
    def rows(self) -> xr.Dataset:
        """What each row comes to."""
        return rows_dataset(self.labelled.question, self.answer.sums, self.answer.potentials)

    @property
    def at_bound(self) -> Table:
        """-1 and 1 where a cell is at its lower and upper bound."""
        return self.labelled.table(self.answer.at_bound.astype(np.float64), "at_bound")

    @property
    def bound_potentials(self) -> Table:
        """What the bounds take off the sum of the potentials."""
        return self.labelled.table(self.answer.bound_potentials, "bound_potential")

    @property
    def statement(self) -> MixedStatement:
        """The question and its answer in numbers, as `verify` takes them."""
        question, found = self.labelled.question, self.answer
        costs = question.costs
        blocks: list[tuple[sparse.csr_array, FloatArray, FloatArray, FloatArray]] = []
        for k, (block, cost) in enumerate(zip(question.blocks, costs, strict=True)):
            own = question.block(k)
            rows, t = question.coefficients[own.start : own.stop], found.potentials[own]
            low, high = block.lower, block.upper
            # the check knows no covariances: potentials transform by the inverse, so that C^T t stays the same
            if cost.whitening is not None:  # independent combinations of correlated targets
                low = high = np.asarray(cost.whitening @ low)
                rows, t = sparse.csr_array(cost.whitening @ rows), np.asarray(np.linalg.solve(cost.whitening.T, t))
            blocks.append((rows, low, high, t))
        words = [
            word
            for block in question.blocks
            for word in ["hard" if block.softness is None else block.softness.penalty] * block.count
        ]
        absolute = np.concatenate([cost.absolute for cost in costs])
        strength = np.concatenate([cost.divergence for cost in costs])
        return MixedStatement(
            coefficients=sparse.vstack([rows for rows, *_ in blocks], format="csr"),
            lower=np.concatenate([low for _, low, _, _ in blocks]),
            upper=np.concatenate([high for _, _, high, _ in blocks]),
            penalty=tuple(words),
            # a row has one price: of l1 and huber the cost a unit, of kl the strength
            price=np.where(np.isnan(strength), absolute, strength),
            variance=np.concatenate([cost.variance for cost in costs]),
            reference=question.reference,
            cell_lower=question.lower,
            cell_upper=question.upper,
            distance=question.distance,
            total=question.total,
            fixed_total=question.fixed_total,
            masses=found.masses,
            potentials=np.concatenate([t for *_, t in blocks]),
        )

    @property
    def objective(self) -> float:
        """What was minimised, in nats."""
        return self.answer.objective


def rows_dataset(question: Question, sums: FloatArray, potentials: FloatArray) -> xr.Dataset:
    """Return what each row comes to, its ends, its miss, its potential and its state."""
    names = [block.name for block in question.blocks for _ in block.labels]
    labels = [label for block in question.blocks for label in block.labels]
    misses = question.misses(sums)
    # about what the default tolerance leaves, with a digit to spare; by the size of the row's coefficients
    small = np.abs(misses) <= 1e-9 * question.total * np.maximum(1.0, question.row_sizes)
    equal = question.row_lower == question.row_upper
    state = np.where(
        ~small,
        "missed",
        np.where(equal, "met", np.where(potentials > 0.0, "lower", np.where(potentials < 0.0, "upper", "inside"))),
    )
    return xr.Dataset(
        {
            "value": ("row", sums),
            "lower": ("row", question.row_lower),
            "upper": ("row", question.row_upper),
            "miss": ("row", misses),
            "potential": ("row", potentials),
            "state": ("row", state),
        },
        coords={"constraint": ("row", names), "label": ("row", labels)},
    )


@dataclass(frozen=True, slots=True, eq=False)
class GeneralRun:
    """An answer with its question and, where one was needed, the verdict."""

    labelled: LabelledQuestion
    answer: Answer
    verdict: Diagnosis | None

    def end_with(self, termination: Termination) -> GeneralRun:
        """Return the same answer with another ending."""
        return replace(self, answer=replace(self.answer, termination=termination))


def run_general(
    labelled: LabelledQuestion,
    *,
    tolerance: float,
    stop_on: str,
    max_iterations: int,
    max_seconds: float,
    certificate: bool,
    start: FloatArray | None = None,
    callback: Callable[[StepLine], bool] | None = None,
    method: str = "newton",
    memory: int = 10,
) -> GeneralRun:
    """Return the answer; where the run does not converge, the verdict, and the answer on what implied zeros leave."""
    options: dict[str, Any] = {
        "tolerance": tolerance,
        "stop_on": stop_on,
        "max_seconds": max_seconds,
        "certificate": certificate,
        "callback": callback,
        "method": method,
        "memory": memory,
    }
    question = labelled.question
    found = answer(question, max_iterations=max_iterations, start=start, **options)
    # other endings need no verdict: it may cost far more than the run
    if found.termination not in (Termination.STALLED, Termination.NOT_FINITE):
        return GeneralRun(labelled, found, None)
    try:
        verdict = diagnose_rows(labelled, labelled.options.in_words())
    except KeyboardInterrupt:
        return GeneralRun(labelled, found, None).end_with(Termination.INTERRUPTED)
    if verdict.verdict is Verdict.INFEASIBLE:
        return GeneralRun(labelled, found, verdict).end_with(Termination.INFEASIBLE)
    if found.refuted:  # what floats said, fractions do not
        found = answer(question, max_iterations=max_iterations, refute=False, start=start, **options)
        if found.termination not in (Termination.STALLED, Termination.NOT_FINITE):
            return GeneralRun(labelled, found, None)
    at_bound = cells_at_bound(verdict)
    if at_bound is None or not at_bound.any():
        return GeneralRun(labelled, found, verdict)
    if question.distance == "logit":  # its ratios never are at a bound
        return GeneralRun(labelled, found, verdict).end_with(Termination.HOPELESS)
    # KL cells at a lower bound of 0 are the ones whose potentials diverge; others end at a finite potential
    zeros: IntArray = np.flatnonzero((at_bound < 0) & (question.lower == 0.0))
    if question.distance != "kl" or not len(zeros):
        return GeneralRun(labelled, found, verdict)
    upper = question.upper.copy()
    upper[zeros] = 0.0
    on_face = replace(question, upper=upper)
    try:
        # from the reference: the potentials of the first run have diverged
        # cells that the constraints force to 0 leave the problem, and all potentials are finite again
        again = answer(on_face, max_iterations=max_iterations, **options)
    except InfeasibleError:
        return GeneralRun(labelled, found, verdict)
    if again.termination is Termination.CONVERGED:
        names = ", ".join(question.describe(int(cell)) for cell in zeros[:5])
        note = f"the constraints force {len(zeros)} zeros ({names}); solved again without them"
        again = replace(
            again,
            termination=Termination.CONVERGED_ON_FACE,
            iterations=found.iterations + again.iterations,
            notes=(*again.notes, note),
        )
        return GeneralRun(replace(labelled, question=on_face), again, verdict)
    return GeneralRun(labelled, found, verdict)


def plain_rows(
    reference: Table, constraints: tuple[Any, ...], table: Table, potentials: tuple[Table, ...]
) -> xr.Dataset:
    """Return what each row of a plain projection comes to."""
    labelled = build_question(reference, constraints, GeneralOptions())
    question, coded = labelled.question, labelled.coded
    masses = np.asarray(table.values, dtype=np.float64).reshape(-1)[coded.positions]
    found = [
        values_at(own, coded.domain.select(constraint.scope), block.index.codes)
        for own, constraint, block in zip(potentials, constraints, question.blocks, strict=True)
        if block.index is not None
    ]
    return rows_dataset(question, question.sums(masses), np.concatenate(found))


def potentials_of(start: Any, question: Question) -> FloatArray:
    """Return the potentials of an earlier projection, or of a sequence of arrays, as those of all rows."""
    given = start if isinstance(start, tuple | list) else start.potentials
    flat = np.concatenate([np.asarray(own.values, dtype=np.float64).reshape(-1) for own in given])
    if len(flat) > question.rows:
        raise InvalidOptionError(f"start must have the potentials of {question.rows} rows, got {len(flat)}")
    # rows that the question adds by itself, such as the total, come last and start at 0
    return np.concatenate([flat, np.zeros(question.rows - len(flat))])
