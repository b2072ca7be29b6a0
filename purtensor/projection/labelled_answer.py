"""From a run in the solver's arrays to the labelled answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from purtensor._typing import Table
from purtensor.constraints.marginals import Marginal
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.kernels.divergence import divergence_sum
from purtensor.kernels.reductions import inner_product
from purtensor.projection.evidence import LabelledEvidence, SolverEvidence
from purtensor.projection.general import GeneralEvidence
from purtensor.projection.labels import trace_of
from purtensor.projection.result import Projection
from purtensor.solving.certificate import Certificate
from purtensor.solving.chunked import SMALLEST_IN_CHUNKS
from purtensor.solving.dual.answer import Answer
from purtensor.solving.dual.labelled import LabelledQuestion
from purtensor.solving.iterate import Record, row_sums
from purtensor.solving.loop import Run
from purtensor.solving.problem import LabelledProblem
from purtensor.solving.run_state import TraceLine
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.termination import Termination


def make_projection(
    reference: Table,
    labelled: LabelledProblem,
    run: Run,
    certificate: Certificate | None,
    diagnosis: Diagnosis | None,
    reference_in: str = "mass",
    sweeping: IPF | None = None,
) -> Projection:
    """Return the labelled answer of a run; `sweeping` makes the plain sweeps that it began with, if any."""
    bound = certificate.bound if certificate else float("inf")
    return Projection(
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
        reference_in=reference_in,
        constraints=labelled.constraints,
        evidence=SolverEvidence(labelled, run, bound, sweeping or IPF()),
    )


def empty_projection(
    reference: Table, constraints: Sequence[Marginal], diagnosis: Diagnosis, reference_in: str = "mass"
) -> Projection:
    """Return the result if targets of 0 exclude every profile of the reference: no mass, and the verdict."""
    targets = [constraint.target for constraint in constraints]
    largest = max(float(target.max() / target.sum()) for target in targets)
    # an empty table misses all of every target: 1 in L1
    nothing = Record(0, largest, 1.0, float("nan"), float("nan"))
    potentials = tuple(
        target.copy(data=np.where(target.values > 0, 0.0, -np.inf)).rename("potential") for target in targets
    )
    return Projection(
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
        reference_in=reference_in,
        constraints=tuple(constraints),
        evidence=LabelledEvidence(
            xr.zeros_like(reference, dtype=np.float64).rename("projection"),
            potentials,
            trace_of([TraceLine(nothing, 0, 0.0)], float("inf")),
        ),
    )


def general_projection(
    reference: Table, labelled: LabelledQuestion, found: Answer, verdict: Diagnosis | None
) -> Projection:
    """Return the labelled answer of a question with rows of any kind."""
    return Projection(
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
        diagnosis=verdict,
        reference=reference,
        constraints=labelled.constraints,
        evidence=GeneralEvidence(labelled, found),
    )


_LOST = 2.0**-10
"""A divergence that is no smaller a share of the terms that it is a difference of keeps 40 of its binary digits."""


def divergence_of(labelled: LabelledProblem, run: Run) -> float:
    """Return D(table || reference) in nats, from the log ratio that the potentials are.

    The sum runs over q phi(p/q - 1), terms that are never negative, so that a small divergence keeps its digits.
    """
    masses, reference = run.iterate.masses, labelled.arrays.reference
    kept, mass = labelled.kept_share, float(masses.sum())
    if not 0.0 < mass < np.inf:
        return float("nan")
    problem, potentials = labelled.arrays, run.iterate.potentials
    # t . C p / mass is the sum of p log(p / reference); masses of the reference may be no float64
    if problem.log_reference is not None or (len(masses) >= SMALLEST_IN_CHUNKS and np.isfinite(potentials).all()):
        sums = row_sums(problem.system, masses) if run.iterate.measured is None else run.iterate.measured[0]
        found = max(0.0, inner_product(sums, potentials) / mass - float(np.log(mass / reference.sum() * kept)))
        terms = inner_product(sums, np.abs(potentials)) / mass
        # on large problems this spares a pass of logarithms where it keeps nearly all digits
        if problem.log_reference is not None or found >= _LOST * terms:
            return found
    # what zero targets took from the reference has q phi(0 - 1) = q in all: 1 - kept
    return max(0.0, divergence_sum(masses, reference, mass, float(reference.sum()) / kept) + (1.0 - kept))
