"""The space of problems whose arrays are in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.lanes import inner_product
from purtensor.kernels.newton.certificate import unevenness
from purtensor.kernels.newton.proof import sum_rest
from purtensor.solving.basis import Basis, heaviest_basis
from purtensor.solving.exact_change import MOST_ENTRIES, exact_change
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.hessian.factored import Factored
from purtensor.solving.hessian.regularized import even_shares
from purtensor.solving.iterate import (
    Budget,
    Iterate,
    Step,
    iterate_at,
)
from purtensor.solving.product_basis import ProductBasis, product_basis
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.spaces.array_points import ArrayPoints
from purtensor.solving.spaces.array_proof import exact_misses, moves_of, proof_sums
from purtensor.solving.spaces.space import NEGLIGIBLE, Direction, Sums
from purtensor.solving.spaces.swept_change import FactoredLater, potentials_by_sweeps

_MOST_ROUTED = 4

_LOST = 2.0**-980
"""The share of the total that a profile may have in the answer where its mass underflowed to 0."""

_LITTLE = 2.0**-10
"""The correction on the basis is usually at most this share of the change."""


@dataclass(slots=True, eq=False)
class ArrayChange:
    """See `Change`: `size` and `square` are the sums of |moves| and of moves^2 / p.

    `missed` is off by `unsure` at most.
    """

    masses: FloatArray
    potentials: FloatArray
    factored: Factored
    moves: FloatArray
    size: float
    square: float
    missed: FloatArray = field(init=False)
    unsure: FloatArray = field(init=False)
    left: float = field(init=False)
    uneven: float = field(init=False)


def _is_little(rest: FloatArray, change: ArrayChange) -> bool:
    """Return whether the correction on the basis does not affect the bound of a change."""
    total, square = sum_rest(rest, change.masses)
    return total <= _LITTLE * change.size and square <= _LITTLE**2 * change.square


@dataclass(slots=True, eq=False)
class ArraySpace(ArrayPoints):
    """A Problem, as all algorithms see it: see `purtensor.solving.spaces.space` for what each method returns."""

    _shares: FloatArray | None = field(default=None)
    _basis: Basis | ProductBasis | None = field(default=None)

    @property
    def newton_note(self) -> str:
        return hessian_of(self.problem).note

    def sweep(self, point: Iterate, order: tuple[int, ...] | None, budget: Budget) -> Step[Iterate]:
        # without memory: it is Newton's here, which the sweeps could not read
        step = IPF(order).step(self.problem, point.with_memory(None), budget, prepare=False)
        return step.at(iterate_at(self.problem, step.iterate.potentials))

    def warm_up(self, point: Iterate, order: tuple[int, ...] | None, sweeps: int) -> tuple[Iterate, int]:
        # all sweeps at once, for in memory nothing is kept between them
        moved = IPF(order).sweep(self.problem, point.with_memory(None), sweeps)
        return iterate_at(self.problem, moved.potentials), sweeps

    def direction(self, point: Iterate, floor: float) -> Direction:
        miss = self.problem.targets - self._measured(point)[0]
        found, _ = hessian_of(self.problem).factor_and_solve(self._weights(point, floor), miss)
        return Direction(found, inner_product(miss, found))

    def first_change(self, point: Iterate, floor: float) -> ArrayChange | None:
        problem = self.problem
        sums, residual = self._measured(point)
        swept = potentials_by_sweeps(problem, point.masses, residual.l1) if floor == 0.0 else None
        if swept is not None:
            return self._changed(point.masses, swept, FactoredLater(problem, point.masses))
        found, factored = hessian_of(problem).factor_and_solve(self._weights(point, floor), problem.targets - sums)
        return self._changed(point.masses, found, factored)

    def refine(self, change: ArrayChange) -> ArrayChange:
        found = change.potentials + change.factored.solve(change.missed)
        return self._changed(change.masses, found, change.factored)

    def sums(self, point: Iterate, change: ArrayChange) -> Sums | None:
        if self._basis is None:
            # small problems may need whole numbers (`exact_change`), which take a searched basis
            large = self.problem.index.size > MOST_ENTRIES
            self._basis = product_basis(self.problem) if large else None
        if isinstance(self._basis, ProductBasis):
            found = self._sums_on(self._basis, point, change)
            if found.feasible:
                return found
            # stars and rectangles proved nothing: heavy profiles are searched for instead
            self._basis = None
        if self._basis is None:
            self._basis = heaviest_basis(self.problem, point.masses)
        return None if self._basis is None else self._sums_on(self._basis, point, change)

    def _sums_on(self, basis: Basis | ProductBasis, point: Iterate, change: ArrayChange) -> Sums:
        """Return the sums of a change whose rest is left to a basis."""
        most = NEGLIGIBLE * self.total
        met, rest = self.meet(basis, change)
        found = self._proof(point, met.moves, met.potentials, rest)
        # whole numbers meet the targets as they are, which on a face known to rounding only are not those of q
        certain = self.problem.face_rounding is None
        if isinstance(basis, Basis) and certain and not found.feasible and met.left <= most:
            exact = exact_change(self.problem, basis, point.masses, met.moves)
            if exact is not None:
                moves, rest = exact
                # masses that underflowed to 0 count as none only where p^ has almost nothing too
                lost = point.masses == 0.0
                served = float((np.abs(moves[lost]) + rest[lost]).max(initial=0.0)) <= _LOST * self.total
                found = self._proof(point, moves, met.potentials, rest)._replace(feasible=served)
        # rows that depend on others may contradict them, which no change of the masses mends
        return found._replace(feasible=found.feasible and met.left <= most)

    def heaviest(self, point: Iterate) -> Basis | None:
        """Return a basis of profiles that are heavy at a point, with its forest; None where none is found."""
        return self._basis if isinstance(self._basis, Basis) else heaviest_basis(self.problem, point.masses)

    def meet(self, basis: Basis | ProductBasis, change: ArrayChange) -> tuple[ArrayChange, FloatArray]:
        """Return a change whose misses the basis has met, and no less than what it lacks of an exact one."""
        most = NEGLIGIBLE * self.total
        met, rest = change, basis.sizes(np.abs(change.missed) + change.unsure)
        for _ in range(_MOST_ROUTED):
            # then even the bound on what the basis adds is no part of the result
            if _is_little(rest, change) and met.left <= most:
                break
            moves = basis.change(met.missed)
            moves += met.moves
            # never below -p: a mass of p^ may come to 0, but not below
            routed = replace(met, moves=np.maximum(moves, -met.masses, out=moves))
            self._measure(routed)
            left = basis.sizes(np.abs(routed.missed) + routed.unsure)
            # routed misses are rounded, too: more rounds help only while the rest falls
            if not left.sum() < rest.sum():
                break
            met, rest = routed, left
        return met, rest

    def _proof(self, point: Iterate, moves: FloatArray, potentials: FloatArray, rest: FloatArray) -> Sums:
        return proof_sums(self.problem, (point.masses, point.potentials), moves, potentials, rest)

    def _changed(self, masses: FloatArray, potentials: FloatArray, factored: Factored) -> ArrayChange:
        change = ArrayChange(masses, potentials, factored, *moves_of(self.problem, masses, potentials))
        self._measure(change)
        return change

    def _measure(self, change: ArrayChange) -> None:
        """Find out what a change leaves of the misses, to twice the digits of float64."""
        problem, system = self.problem, self.problem.system
        change.missed, change.unsure = exact_misses(problem, change.masses, change.moves)
        if problem.face_rounding is not None:
            # notes/certificate.md, equation 11
            change.unsure += problem.face_rounding.rows
        sizes = np.abs(change.missed)
        change.left = max(float(sizes[system.block(k)].sum()) for k in range(self.constraints))
        change.uneven = math.sqrt(unevenness(change.missed, problem.targets))

    def _weights(self, point: Iterate, floor: float) -> FloatArray:
        if floor == 0.0:
            return point.masses
        if self._shares is None:
            self._shares = even_shares(self.problem)
        return point.masses + floor * self._shares
