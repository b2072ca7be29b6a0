"""Projections onto marginals with targets, of tables in memory: the problem, the run, the proof, and the labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from purtensor._typing import FloatArray, Table
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InfeasibleError
from purtensor.feasibility.diagnose import diagnose_table, memory_witness_of
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.face_rounding import face_rounding
from purtensor.feasibility.verdict import restrict_to
from purtensor.projection.labelled_answer import empty_projection, make_projection
from purtensor.projection.labels import potentials_from
from purtensor.projection.lazy_verdict import FaceVerdict, LazyVerdict
from purtensor.projection.log_reference import IN_MASS, support_of_logarithms, with_logarithms
from purtensor.projection.options import read_start
from purtensor.projection.product_answer import WITHOUT_PROOF, answer_product
from purtensor.projection.product_question import order_of, product_of
from purtensor.projection.result import Projection
from purtensor.solving.certificate import UNPROVED, Certificate, DualCertifier, certify
from purtensor.solving.iterate import Iterate, Solver, iterate_at, scale_to_total
from purtensor.solving.log_ratio import log_ratio_bound
from purtensor.solving.loop import Progress, Run, Stage, begin
from purtensor.solving.problem import LabelledProblem, build_problem
from purtensor.solving.run_state import State
from purtensor.solving.solve import interrupt, run, solve, step_on_arrays
from purtensor.solving.solvers.ipf.product_sweeps import NotOfProduct
from purtensor.solving.solvers.ipf.solver import IPF, forget_layouts
from purtensor.solving.spaces.arrays import ArraySpace
from purtensor.solving.stopping import Stopping
from purtensor.solving.termination import Termination


@dataclass(slots=True, eq=False)
class MarginalQuestion:
    """What is projected onto what, by which solver, and when it stops.

    Attributes
    ----------
    reference
        The given reference: masses, or their logarithms if `reference_in` is "log".
    support
        A table that has mass where the reference has: itself, or ones and zeros.
    """

    reference: Table
    constraints: tuple[Marginal, ...]
    solver: Solver
    stopping: Stopping
    reference_in: str = IN_MASS
    support: Table = field(init=False)
    lazily: LazyVerdict[Table] = field(init=False)

    def __post_init__(self) -> None:
        self.support = self.reference if self.reference_in == IN_MASS else support_of_logarithms(self.reference)
        self.lazily = LazyVerdict(lambda: diagnose_table(self.support, self.constraints))

    def answer(
        self,
        start: Projection[Any] | Sequence[Table] | None,
        report: Callable[[Progress], Any] | None,
        *,
        certificate: bool,
        on_failure: str,
        note: str = "",
        points_seen: bool = False,
    ) -> Projection:
        """Return the projection with any ending; `note` is the first of its notes.

        `points_seen` says that `report` looks at the points on the way.

        Raises
        ------
        InfeasibleError
            A target has no profile, and `on_failure` is "raise".
        """
        # the product form begins at the reference, and has no points to show
        if start is None and not points_seen:
            product = self._of_product(report, certificate=certificate)
            if product is not None:
                return product
        try:
            labelled = self._problem()
        except InfeasibleError as error:
            if on_failure == "raise":
                raise InfeasibleError(str(error), self.lazily.find()) from None
            return self._without_support()
        warm = None if start is None else _warm_start(labelled, start)
        verdict = _MarginalVerdict(self.lazily, labelled, self.solver, self.stopping.stop_on)
        stopping = replace(self.stopping, dual_later=True)  # the trace repeats sweeps if it is read
        outcome = solve(_stage(labelled, self.solver, self.stopping.stop_on, warm), stopping, verdict, report)
        proof = None
        if certificate and not outcome.hurried:
            try:
                # of the face, where the run went on there
                finite = outcome.termination is not Termination.NOT_FINITE
                proof = DualCertifier(verdict.labelled.arrays).certify(outcome.iterate) if finite else None
            except KeyboardInterrupt:
                outcome = interrupt(outcome, WITHOUT_PROOF)
        forget_layouts(verdict.labelled.arrays)
        if note:
            outcome = replace(outcome, notes=[note, *outcome.notes])
        return self._label(verdict.labelled, outcome, proof, self.lazily.diagnosis)

    def _without_support(self) -> Projection:
        """Return how far the reference itself is from targets of which one has no profile: no iteration is made."""
        try:
            labelled = self._problem(bare_rows=True)
        except InfeasibleError:  # not one profile is left
            return empty_projection(self.reference, self.constraints, self.lazily.find(), self.reference_in)
        # no iteration: only how far the reference is from the targets
        outcome = run(labelled.arrays, IPF(), replace(self.stopping, max_iterations=0))
        outcome = replace(outcome, termination=Termination.INFEASIBLE)
        return self._label(labelled, outcome, None, self.lazily.find())

    def _of_product(self, report: Callable[[Progress], Any] | None, *, certificate: bool) -> Projection | None:
        """Return the projection of a dense table with mass in every cell; None where the general form is wanted."""
        is_plain = self.reference_in == IN_MASS and self.stopping.stop_on == "residual"
        product = product_of(self.reference, self.constraints, self.solver) if is_plain else None
        if product is None:
            return None
        try:
            return answer_product(
                product, self.reference, self.constraints, self.solver, self.stopping, report, certificate=certificate
            )
        except NotOfProduct:
            return None

    def _problem(self, *, bare_rows: bool = False) -> LabelledProblem:
        labelled = build_problem(self.support, self.constraints, bare_rows=bare_rows)
        return labelled if self.reference_in == IN_MASS else with_logarithms(labelled, self.reference)

    def _label(
        self, labelled: LabelledProblem, outcome: Run, proof: Certificate | None, diagnosis: Diagnosis | None
    ) -> Projection:
        sweeping = IPF(order_of(self.solver, len(labelled.constraints)))
        return make_projection(self.reference, labelled, outcome, proof, diagnosis, self.reference_in, sweeping)


def _stage(labelled: LabelledProblem, solver: Solver, stop_on: str, warm: FloatArray | None = None) -> Stage[Iterate]:
    """Return what the loop works on: it begins at the reference, or at the potentials of a warm start."""
    space = ArraySpace(labelled.arrays)
    point = space.start() if warm is None else iterate_at(labelled.arrays, warm)
    state = begin(space, point, at_reference=warm is None)

    def proof(at: Iterate) -> Certificate:
        # as it would be returned: from the potentials, without what sweeps have rounded on the way
        point = space.rebuild(at)[0]
        if stop_on == "log_ratio":
            return replace(UNPROVED, log_ratio_bound=log_ratio_bound(space, point, 0))
        return certify(space, point)

    return Stage(space, state, step_on_arrays(space, solver), proof)


@dataclass(slots=True, eq=False)
class _MarginalVerdict(FaceVerdict[Table]):
    """The verdict on a labelled problem, which becomes its face when the run continues there."""

    labelled: LabelledProblem
    solver: Solver
    stop_on: str

    def face(self, state: State[Iterate]) -> Stage[Iterate]:
        """Return the problem without its implied zeros, where a run begins anew."""
        decision, whole = memory_witness_of(self.lazily.find()).decision, self.labelled.arrays
        # the verdict numbers the profiles of the table, the problem only those that it has kept
        zeros = decision.zeros[self.labelled.profiles]
        keep = np.asarray(~zeros)
        weights = (
            np.zeros_like(self.labelled.rows) if decision.weights is None else decision.weights[self.labelled.rows]
        )
        arrays = replace(restrict_to(whole, keep), face_rounding=face_rounding(whole, zeros, weights))
        # the face is begun at its reference: the potentials so far have begun to diverge
        self.labelled = replace(self.labelled, profiles=self.labelled.profiles[keep], arrays=arrays)
        return _stage(self.labelled, self.solver, self.stop_on)


def _warm_start(labelled: LabelledProblem, start: Projection[Any] | Sequence[Table]) -> FloatArray:
    tables = read_start(start, labelled.full.scopes)
    return scale_to_total(labelled.arrays, potentials_from(labelled, tables))
