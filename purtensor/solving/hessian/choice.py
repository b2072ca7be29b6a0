"""Which form of C diag(p) C^T pays for a problem, by estimated cost and memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray
from purtensor.constraints.rank.independence import independent_rows
from purtensor.constraints.slabs import Slabs
from purtensor.constraints.system import System
from purtensor.errors import TooLargeError
from purtensor.solving.hessian.arrowhead import build_arrowhead
from purtensor.solving.hessian.bipartite import build_bipartite
from purtensor.solving.hessian.conjugate import Conjugate
from purtensor.solving.hessian.dense import build_dense
from purtensor.solving.hessian.factored import Hessian
from purtensor.solving.problem import Problem

LARGEST_DENSE = 4000
"""Beyond so many coupled rows a dense matrix costs more than conjugate gradients."""

_ACCURACY = 1e-6
"""Of conjugate gradients where rows carry a ridge: far from the answer a rougher direction would be no help."""

_FORM = "hessian"
"""Where a system keeps its form."""

_SEARCH_ITERATIONS = 60
"""What conjugate gradients typically take for a Newton step."""


# estimates for one machine, never measured at run time, so that choices are reproducible (notes/newton.md, equation 7)
@dataclass(frozen=True, slots=True)
class Cost:
    """Estimated seconds of one solve in each form, and of the exact algebra before it; inf where a form is out."""

    arrowhead: float
    dense: float
    conjugate: float
    ranks: float

    @property
    def factorized(self) -> float:
        """The seconds of one factorisation; inf where no form has one."""
        return min(self.arrowhead, self.dense)

    @property
    def step(self) -> float:
        """The seconds of one solve in the form that is chosen."""
        return min(self.factorized, self.conjugate)

    @property
    def algebra(self) -> float:
        """The seconds before the first solve in the form that is chosen."""
        return 3e-4 + (self.ranks if self.conjugate >= self.factorized else 0.0)


def estimate(system: System, slabs: Slabs | None) -> Cost:
    """Return what one Newton step would cost in each form; numbers of operations, so that choices are reproducible."""
    constraints, profiles = system.index.shape
    rows = np.diff(system.offsets)
    arrowhead, ranks = float("inf"), 0.0
    if slabs is not None:
        coupling = int(sum(rows[k] for k in slabs.outside))
        # the first inside constraint is the primary: its rows are a diagonal and cost nothing
        inner = int(sum(rows[k] for k in slabs.inside[1:])) / slabs.count
        reach = min(coupling, profiles * len(slabs.outside) / slabs.count)
        if coupling <= LARGEST_DENSE and inner + reach <= LARGEST_DENSE:
            front = inner * (inner + reach) ** 2 / 4 + reach**2
            pairs = 12 * constraints + 0.75 * (constraints - 1) ** 2
            unit = 0.6e-9 if len(slabs.inside) == 2 else 1e-9  # small matrices of profiles go eight side by side
            arrowhead = unit * (profiles * pairs + slabs.count * front / 2 + coupling**3 / 30)
            ranks = 1e-9 * (profiles * constraints * 25 + 50 * coupling**2)
    # the most it can be: every constraint after the first has the total in common with it
    rank = system.rows - len(rows) + 1
    dense = float("inf")
    if rank <= LARGEST_DENSE:
        dense = 1e-9 * (profiles * (2 * constraints + 0.1 * constraints**2) + rank**3 / 30)
    conjugate = 1e-9 * profiles * constraints * 4 * _SEARCH_ITERATIONS
    if arrowhead >= dense:
        ranks = 1e-9 * (profiles * constraints * 5 + rank**2 * system.rows / 10)
    return Cost(arrowhead, dense, conjugate, ranks)


def hessian_of(problem: Problem) -> Hessian:
    """Return the cheapest form for a problem; built once for its system, whatever the reference."""
    return problem.system.remember(_FORM, lambda: _build(problem))


def find_factorized_hessian(problem: Problem, solves: int, most_seconds: float) -> Hessian | None:
    """Return the cheapest form that solves to rounding; None where building it and so many solves take longer."""
    cost = estimate(problem.system, problem.slabs)
    if cost.ranks + (1 + solves) * cost.factorized > most_seconds:  # a solve by elimination costs a factorisation
        return None
    if cost.factorized <= cost.conjugate:
        found = hessian_of(problem)
        return None if isinstance(found, Conjugate) else found
    return _factorize(problem, cost, most_seconds / solves)


def has_form(problem: Problem) -> bool:
    """Return whether a form has been built for a problem."""
    return _FORM in problem.system.kept


def _build(problem: Problem) -> Hessian:
    cost = estimate(problem.system, problem.slabs)
    found = None if cost.conjugate < cost.factorized else _factorize(problem, cost, cost.conjugate)
    return found or Conjugate(problem.system, "conjugate gradients")


def _factorize(problem: Problem, cost: Cost, most_seconds: float) -> Hessian | None:
    """Return the cheaper form that factorises; None where it is dearer, or the exact algebra beyond the memory."""
    try:
        independence = independent_rows(problem.system)
    except TooLargeError:
        return None
    slabs = problem.slabs
    # chosen for this key, the independent rows have as many inside rows as there can be, which the arrowhead needs
    if slabs is not None and independence.key == slabs.key and cost.arrowhead <= cost.dense:
        mask = independence.mask(problem.system.rows)
        return build_bipartite(problem.system, slabs, mask) or build_arrowhead(problem.system, slabs, mask)
    return build_dense(problem.system, independence.rows) if cost.dense <= most_seconds else None


def form_on(system: System, slabs: Slabs | None, kept: BoolArray) -> Hessian:
    """Return the cheapest form on the kept rows that takes a ridge on each of them."""
    cost = estimate(system, slabs)
    if cost.conjugate < cost.factorized:
        return Conjugate(system, "conjugate gradients", np.flatnonzero(~kept), relative=_ACCURACY)
    if slabs is None or cost.dense < cost.arrowhead:
        return build_dense(system, np.flatnonzero(kept))
    return build_arrowhead(system, slabs, kept)
