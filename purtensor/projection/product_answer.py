"""Projections of dense tables with mass in every cell, as far as plain sweeps go: no codes, no order, no ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from purtensor._typing import FloatArray, Table
from purtensor.constraints.marginals import Marginal
from purtensor.projection.evidence import SolverEvidence
from purtensor.projection.labels import trace_of, with_duals
from purtensor.projection.product_question import order_of
from purtensor.projection.result import Projection
from purtensor.solving.certificate import Certificate, DualCertifier
from purtensor.solving.iterate import Budget, Iterate, Solver, Step, iterate_at
from purtensor.solving.loop import Progress, Run, Stage, begin, run_stage
from purtensor.solving.problem import LabelledProblem, build_problem
from purtensor.solving.solve import interrupt
from purtensor.solving.solvers.ipf.product_sweeps import NotOfProduct, Product
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.spaces.dense import DenseSpace, Factors
from purtensor.solving.spaces.product import ProductSpace
from purtensor.solving.spaces.two_way import TwoWaySpace
from purtensor.solving.spaces.two_way_points import TwoWayTable
from purtensor.solving.stopping import Stopping
from purtensor.solving.termination import Termination
from purtensor.tables.coded import relaid

_TINY = 1e-6
"""So small a divergence loses digits where it is summed up by potentials."""

WITHOUT_PROOF = "interrupted while a bound was being proved, after the solver had ended"

_ENDINGS = (Termination.CONVERGED, Termination.ITERATION_LIMIT, Termination.TIME_LIMIT, Termination.INTERRUPTED)


def answer_product(
    product: Product | TwoWayTable,
    reference: Table,
    constraints: tuple[Marginal, ...],
    solver: Solver,
    stopping: Stopping,
    report: Callable[[Progress], Any] | None,
    *,
    certificate: bool,
) -> Projection:
    """Return the projection of a dense table.

    Raises
    ------
    NotOfProduct
        A request during the run needs the general form.
    """
    space = TwoWaySpace(product) if isinstance(product, TwoWayTable) else ProductSpace(product)

    def step(point: Iterate, budget: Budget) -> Step[Iterate]:
        return space.step(solver, point, budget)

    # a verdict needs the codes and ranks of the general form, which starts again from the reference
    def is_hopeless() -> bool:
        raise NotOfProduct

    # the loop is that of all spaces: only the sums are other ones
    found = run_stage(Stage(space, begin(space, space.start()), step), stopping, report, is_hopeless)
    divergence = _divergence(space, found)
    evidence = ProductEvidence(reference, constraints, space, found, IPF(order_of(solver, len(constraints))))
    proof = None
    if certificate and not found.hurried:
        try:
            proof = evidence.proof(space)
        except KeyboardInterrupt:
            found = interrupt(found, WITHOUT_PROOF)
    return Projection(
        termination=found.termination,
        certified=proof is not None and proof.certified,
        residual=found.residual.largest,
        residual_l1=found.residual.l1,
        divergence=divergence,
        bound=evidence.bound,
        tv_bound=1.0 if proof is None else proof.tv_bound,
        iterations=found.iterations,
        seconds=found.seconds,
        notes=tuple(found.notes),
        diagnosis=None,
        reference=reference,
        constraints=constraints,
        evidence=evidence,
    )


def _divergence(space: DenseSpace, found: Run) -> float:
    """Return the divergence; refuse endings that need a verdict or Newton's method, and one that needs every digit."""
    divergence = space.divergence()
    # profiles that all but vanished may be zeros that the constraints force: that takes a verdict
    asks = found.termination is Termination.CONVERGED and space.has_emptied(found.iterate, found.residual.l1)
    if not found.hurried and (found.termination not in _ENDINGS or asks or divergence < _TINY):
        raise NotOfProduct
    return max(0.0, divergence)


class ProductEvidence(SolverEvidence):
    """The table, and the factors of its rows; the problem in its general form is built on request."""

    reference: Table
    constraints: tuple[Marginal, ...]
    sweeping: IPF
    found: Run
    exponent: int
    factors: list[Factors]

    def __init__(
        self, reference: Table, constraints: tuple[Marginal, ...], space: DenseSpace, found: Run, solver: IPF
    ) -> None:
        self.__dict__.update(
            reference=reference,
            constraints=constraints,
            sweeping=solver,
            found=replace(found, iterate=Iterate(np.empty(0), np.empty(0))),
            bound=math.inf,
            exponent=space.product.exponent,
            factors=space.factors(),
        )
        out = np.empty(reference.shape)
        _into(out, reference.dims, space.product.names, space.write)
        self.__dict__["table"] = relaid(reference, out.reshape(-1), name="projection")

    def proof(self, space: DenseSpace) -> Certificate:
        """Return what is proved by passes over the table or, where that is slow, as in the general form."""
        found = space.certificate()
        # the equations are solved as everywhere else, for the masses as they stand in the table: factors make them
        if not found.certified:
            labelled = self.labelled
            masses = np.ldexp(self.table.values.reshape(-1)[labelled.profiles], -labelled.target_exponent)
            found = DualCertifier(labelled.arrays).certify(Iterate(self._potentials(), masses))
        self.__dict__["bound"] = found.bound
        return found

    @cached_property
    def labelled(self) -> LabelledProblem:
        """The problem in its general form."""
        return build_problem(self.reference, self.constraints)

    @cached_property
    def run(self) -> Run:
        """The run, at the point of the general form."""
        return replace(self.found, iterate=iterate_at(self.labelled.arrays, self._potentials()))

    @cached_property
    def trace(self) -> xr.Dataset:
        """The recorded iterations; those whose dual was not computed during the run are repeated."""
        return trace_of(with_duals(self.found.lines, lambda: self.labelled.arrays, self.sweeping), self.bound)

    def _potentials(self) -> FloatArray:
        """Return the potentials of the general form: logarithms of factors, and what its scales add."""
        labelled = self.labelled
        found = np.empty(labelled.full.rows)
        for factors in self.factors:
            scope = labelled.full.scopes[factors.constraint]
            own = np.empty([labelled.full.domain.select([name]).size for name in scope])
            _into(own, scope, factors.names, factors.write)
            found[labelled.full.block(factors.constraint)] = np.log(own).reshape(-1)
        # both forms scale by powers of two, but not by the same ones
        powers = self.exponent - labelled.target_exponent + labelled.reference_exponent
        found[labelled.full.block(0)] += powers * math.log(2.0)
        return found


def _into(
    out: FloatArray, dims: Sequence[Hashable], names: Sequence[Sequence[str]], write: Callable[[FloatArray], Any]
) -> None:
    """Let `write` fill an array of these dimensions as one of shape (I, J, slabs), whose slabs stand side by side."""
    axes = [[dims.index(name) for name in group] for group in names]
    view = out.transpose([axis for group in axes for axis in group])
    cells = view.reshape([math.prod(out.shape[axis] for axis in group) for group in axes])
    # the kernels want the slabs of a cell side by side in memory
    if cells.strides[2] != cells.itemsize:
        cells = cells.copy()
    write(cells)
    if not np.shares_memory(cells, out):  # attributes that stand apart, or slabs
        view[...] = cells.reshape(view.shape)
