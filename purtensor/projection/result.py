"""The answer of a projection, with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from purtensor._printing import draw
from purtensor._typing import Table
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InvalidOptionError
from purtensor.feasibility.diagnose import Diagnosis
from purtensor.feasibility.mixed_verdict import MixedVerdict
from purtensor.kernels.divergence import divergence_sum
from purtensor.projection.evidence import Evidence, SolverEvidence, StoredEvidence
from purtensor.projection.general import GeneralEvidence, plain_rows
from purtensor.projection.labels import table_of
from purtensor.projection.outcome import Outcome
from purtensor.projection.trace import trace_of
from purtensor.solving.certificate import Certificate
from purtensor.solving.dual.answer import Answer
from purtensor.solving.dual.labelled import LabelledQuestion
from purtensor.solving.iterate import Record
from purtensor.solving.loop import Run
from purtensor.solving.problem import LabelledProblem
from purtensor.solving.termination import Termination
from purtensor.solving.trace_lines import TraceLine

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Projection(Outcome):
    """An information projection, how it was reached, and how far it can be from the exact one.

    As every outcome it has `termination`, `converged`, `certified`, `residual`, `residual_l1`, `divergence`, `bound`,
    `tv_bound`, `iterations`, `seconds` and `notes`, too.

    Attributes
    ----------
    table
        The projection, in the layout and with the profiles of the reference; its total is that of the targets.
    diagnosis
        The verdict on feasibility where one was asked for, or was needed.
    reference, constraints
        What was projected onto what; not copied.
    """

    table: Table = field(repr=False)
    diagnosis: Diagnosis | None = field(repr=False)
    reference: Table = field(repr=False)
    constraints: tuple[Marginal, ...] = field(repr=False)
    evidence: Evidence = field(repr=False)

    @property
    def potentials(self) -> tuple[Table, ...]:
        """The dual variables, natural logarithms, one table a constraint: table = reference * exp(C^T potentials).

        Zero on dependent rows, -inf on zero targets.
        """
        return self.evidence.potentials

    @property
    def trace(self) -> xr.Dataset:
        """What was measured on the way, over the dimension `record`; each variable tells its unit in its attributes."""
        return self.evidence.trace

    @classmethod
    def of_general(
        cls, reference: Table, labelled: LabelledQuestion, found: Answer, verdict: MixedVerdict | None
    ) -> Projection:
        """Return the labelled answer of a question with rows of any kind."""
        diagnosis: Any = verdict
        return cls(
            table=labelled.table(found.masses * labelled.signs, "projection"),
            termination=found.termination,
            certified=found.certified and found.termination.converged,
            residual=found.residual,
            residual_l1=found.residual_l1,
            divergence=found.divergence,
            bound=found.bound,
            tv_bound=found.tv_bound,
            iterations=found.iterations,
            seconds=found.seconds,
            notes=found.notes,
            diagnosis=diagnosis,
            reference=reference,
            constraints=labelled.constraints,
            evidence=GeneralEvidence(labelled, found),
        )

    @property
    def is_general(self) -> bool:
        """Whether rows of other kinds than marginals with targets, bounds or another distance were asked for."""
        return isinstance(self.evidence, GeneralEvidence)

    @property
    def rows(self) -> xr.Dataset:
        """What each row of the constraints comes to, over `row`.

        Variables are `value`, `lower`, `upper`, `miss`, `potential` and `state`, which is "met", "missed", or for an
        interval "lower", "upper" or "inside"; the coordinates `constraint` and `label` say which row it is.
        """
        if isinstance(self.evidence, GeneralEvidence):
            return self.evidence.rows
        return plain_rows(self.reference, self.constraints, self.table, self.potentials)

    @property
    def at_bound(self) -> Table:
        """-1 where a profile is at its lower bound, 1 where it is at its upper one, else 0."""
        if isinstance(self.evidence, GeneralEvidence):
            return self.evidence.at_bound
        return xr.zeros_like(self.table).rename("at_bound")

    @property
    def bound_potentials(self) -> Table:
        """What a bound takes off the sum of the potentials of a profile, in nats; 0 between the bounds."""
        if isinstance(self.evidence, GeneralEvidence):
            return self.evidence.bound_potentials
        return xr.zeros_like(self.table).rename("bound_potential")

    @property
    def objective(self) -> float:
        """What was minimised: the divergence, or another distance, and what soft rows cost, in nats."""
        return self.evidence.objective if isinstance(self.evidence, GeneralEvidence) else self.divergence

    def plot(self, *, title: str = "") -> Axes:
        """Return axes with what changed, and how the misses fell; see `purtensor.plots.plot_projection`."""
        return draw("plot_projection", self, title=title)

    def _washed_out(self) -> str:
        return washed_out(self.reference)


def washed_out(reference: Table) -> str:
    """Return in words how much of a regularized reference is pseudo-counts; nothing where it is not regularized."""
    share = reference.attrs.get("washed_out_share")
    return "" if share is None else f"{share:.3g} (lambda * profiles / N: pseudo-counts over counts)"


def make_projection(
    reference: Table, labelled: LabelledProblem, run: Run, certificate: Certificate | None, diagnosis: Diagnosis | None
) -> Projection:
    """Return the labelled answer of a run."""
    bound = certificate.bound if certificate else float("inf")
    return Projection(
        table=table_of(labelled, run.iterate.masses),
        termination=run.termination,
        certified=bool(certificate and certificate.certified),
        residual=run.residual.largest,
        residual_l1=run.residual.l1,
        divergence=divergence_of(labelled, run),
        bound=bound,
        tv_bound=certificate.tv_bound if certificate else 1.0,
        iterations=run.iterations,
        seconds=run.seconds,
        notes=tuple(run.notes),
        diagnosis=diagnosis,
        reference=reference,
        constraints=labelled.constraints,
        evidence=SolverEvidence(labelled, run, bound),
    )


def empty_projection(reference: Table, constraints: Sequence[Marginal], diagnosis: Diagnosis) -> Projection:
    """Return what is left where zero targets empty every profile of the reference: no mass, and the verdict."""
    targets = [constraint.target for constraint in constraints]
    largest = max(float(target.max() / target.sum()) for target in targets)
    nothing = Record(0, largest, 1.0, float("nan"), float("nan"))
    potentials = tuple(
        target.copy(data=np.where(target.values > 0, 0.0, -np.inf)).rename("potential") for target in targets
    )
    return Projection(
        table=xr.zeros_like(reference, dtype=np.float64).rename("projection"),
        termination=Termination.INFEASIBLE,
        certified=False,
        residual=largest,
        residual_l1=1.0,
        divergence=float("nan"),
        bound=float("inf"),
        tv_bound=1.0,
        iterations=0,
        seconds=0.0,
        notes=(),
        diagnosis=diagnosis,
        reference=reference,
        constraints=tuple(constraints),
        evidence=StoredEvidence(potentials, trace_of([TraceLine(nothing, 0, 0.0)], float("inf"))),
    )


def divergence_of(labelled: LabelledProblem, run: Run) -> float:
    """Return D(table || reference) in nats, from the log ratio that the potentials are.

    The sum runs over q phi(p/q - 1), terms that are never negative, so that a small divergence keeps its digits.
    """
    masses, reference = run.iterate.masses, labelled.arrays.reference
    kept, mass = labelled.kept_share, float(masses.sum())
    if not 0.0 < mass < np.inf:
        return float("nan")
    return max(0.0, divergence_sum(masses, reference, mass, float(reference.sum()) / kept) + (1.0 - kept))


def require_projection(result: object) -> None:
    """Refuse what is no Projection: a table, a relaxation, or the result of a run on disk."""
    if not isinstance(result, Projection):
        raise InvalidOptionError(
            "result is a Projection, as purtensor.project returns one of tables in memory, this is "
            f"{type(result).__qualname__}"
        )
    if result.is_general:
        raise InvalidOptionError(
            "this takes projections onto marginals with targets; with soft rows, intervals, bounds or another distance "
            "the answer has kinks, where derivatives do not exist: resample the records and project again"
        )
