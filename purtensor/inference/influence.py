"""The derivative of a number h(q) of the projection with respect to the data, by one adjoint solve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.inference.dependence import Dependence
from purtensor.kernels.engine import engine_for
from purtensor.solving.hessian.factored import Factored, solve_refined
from purtensor.solving.iterate import on_profiles, row_sums
from purtensor.solving.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """Turns gradients over the profiles of q into derivatives with respect to the data (notes/standard_errors.md).

    Attributes
    ----------
    problem, factored
        The projection problem, and C diag(q) C^T, factored at q.
    q, f
        The projection and the data, each of total 1; they have different profiles where the data have more.
    place
        Where among the profiles of f each profile of q stands; None when the reference does not depend on the data.
    dependences
        How each target depends on the data.
    """

    problem: Problem
    factored: Factored
    q: FloatArray
    f: FloatArray
    place: IntArray | None
    dependences: tuple[Dependence, ...]

    def of(self, gradient: FloatArray) -> FloatArray:
        """Return dh/df for each profile of the data, up to a constant (notes/standard_errors.md, equation 5)."""
        with engine_for(self.problem.index.size):
            return self._of(gradient)

    def _of(self, gradient: FloatArray) -> FloatArray:
        potentials = self._adjoint(gradient)
        found = np.zeros(len(self.f))
        for dependence in self.dependences:
            # B^T a, target by target
            found += dependence.pulled_back(potentials)
        if self.place is not None:
            # q/f (g - C^T a), for the reference; f is positive wherever q is
            found[self.place] += self.q * (gradient - on_profiles(self.problem.system, potentials)) / self.f[self.place]
        return found

    def covariance(self, one: FloatArray, other: FloatArray, size: int) -> float:
        """Return the covariance of two numbers by their derivatives (notes/standard_errors.md, equation 6)."""
        # centred first: the difference of the two sums in equation 6 would cancel
        mean_one, mean_other = float(self.f @ one), float(self.f @ other)
        return float(self.f @ ((one - mean_one) * (other - mean_other))) / size

    def _adjoint(self, gradient: FloatArray) -> FloatArray:
        """Return a with C diag(q) C^T a = C (q gradient), refined until rounding."""
        return solve_refined(self.problem, self.factored, self.q, row_sums(self.problem.system, self.q * gradient))
