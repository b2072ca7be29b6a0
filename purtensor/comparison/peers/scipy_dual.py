"""scipy's minimisers on the dual: what one writes who has no package for the purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from purtensor._typing import FloatArray
from purtensor.comparison.peers.peer import Attempt, Line, Peer
from purtensor.comparison.plain import NotApplicableError, PlainProblem
from purtensor.comparison.rule import Ending, Rule

# a dense Hessian of more rows takes more than 300 MB and a minute a step
_MOST_ROWS = 6000


class Dual:
    """log sum q0 exp(C^T t) - b . t with its derivatives: convex, and its gradient is the miss of the targets."""

    def __init__(self, problem: PlainProblem) -> None:
        self.problem = problem
        self.matrix, self.targets = problem.matrix()
        self.transposed = self.matrix.T.tocsr()
        self.logarithms = np.log(problem.masses[problem.kept])

    def masses(self, t: FloatArray) -> tuple[FloatArray, float]:
        """Return the distribution at t, and the logarithm that normalises it."""
        exponent = self.logarithms + self.transposed @ t
        # with the largest exponent at 0 nothing overflows
        top = float(exponent.max())
        masses: FloatArray = np.exp(exponent - top)
        total = float(masses.sum())
        return masses / total, top + float(np.log(total))

    def value_and_gradient(self, t: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and the gradient at t."""
        masses, logarithm = self.masses(t)
        return logarithm - float(self.targets @ t), self.matrix @ masses - self.targets

    def hessian(self, t: FloatArray) -> FloatArray:
        """Return C diag(p) C^T - (C p)(C p)^T as a dense matrix."""
        masses, _ = self.masses(t)
        sums = self.matrix @ masses
        product: FloatArray = (self.matrix @ (sparse.diags_array(masses) @ self.transposed)).toarray()
        return product - np.outer(sums, sums)


class _Watch:
    """Keeps the trace, and stops the minimiser by our rule; the judging is taken off the clock."""

    def __init__(self, dual: Dual, rule: Rule) -> None:
        self.dual, self.rule = dual, rule
        self.lines: list[Line] = []
        self.limit: Ending | None = None
        self.judging = 0.0
        self.began = rule.now()
        self(np.zeros(len(dual.targets)))

    def seconds(self) -> float:
        """Return the seconds of the minimiser so far."""
        return self.rule.now() - self.began - self.judging

    def __call__(self, t: FloatArray) -> None:
        seconds, entered = self.seconds(), self.rule.now()
        masses, _ = self.dual.masses(t)
        largest, l1 = self.dual.problem.misses(self.dual.problem.spread(masses))
        self.lines.append(Line(len(self.lines), seconds, largest, l1))
        self.judging += self.rule.now() - entered
        # called at the start: there is no minimiser to stop yet
        if len(self.lines) == 1:
            return
        if self.rule.is_met(largest, l1):
            raise StopIteration
        if seconds >= self.rule.max_seconds:
            self.limit = Ending.TIME_LIMIT
            raise StopIteration

    def attempt(self, found: Any) -> Attempt:
        """Return what the minimiser found."""
        seconds = self.seconds()
        masses, _ = self.dual.masses(np.asarray(found.x))
        made = len(self.lines) - 1
        if self.limit is None and made >= self.rule.max_iterations:
            self.limit = Ending.ITERATION_LIMIT
        says = "" if self.limit else str(found.message)
        return Attempt(self.dual.problem.spread(masses), made, self.limit, says, seconds, tuple(self.lines))


@dataclass(frozen=True)
class ScipyDual(Peer):
    """`scipy.optimize.minimize` on the dual.

    Attributes
    ----------
    method
        "L-BFGS-B", which compares values and so ends early on hard problems; or "trust-exact", with a dense Hessian:
        the exact reference on small problems.
    """

    method: str

    def prepare(self, problem: PlainProblem, rule: Rule) -> Callable[[], Attempt]:
        """Return a call that solves the problem."""
        rows = len(problem.targets)
        is_dense = self.method == "trust-exact"
        if is_dense and rows > _MOST_ROWS:
            raise NotApplicableError(f"it needs a dense Hessian of {rows:,} x {rows:,} numbers")
        dual = Dual(problem)
        options = {"maxiter": rule.max_iterations, "gtol": rule.tolerance}
        if not is_dense:
            # values stand still, to rounding, long before the misses do
            options |= {"maxfun": 20 * rule.max_iterations, "ftol": 0.0, "maxcor": 10}

        def solve() -> Attempt:
            watch = _Watch(dual, rule)
            found = minimize(
                dual.value_and_gradient,
                np.zeros(len(dual.targets)),
                method=self.method,
                jac=True,
                hess=dual.hessian if is_dense else None,
                options=options,
                callback=watch,
            )
            return watch.attempt(found)

        return solve
