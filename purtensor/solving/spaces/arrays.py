"""The space of problems whose arrays are in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.newton.certificate import unevenness
from purtensor.kernels.newton.proof import UNIT, sum_rest
from purtensor.kernels.reductions import inner_product
from purtensor.solving.basis import Basis, heaviest_basis
from purtensor.solving.exact_change import exact_change
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.hessian.dense import Dense, ShiftedDense
from purtensor.solving.hessian.factored import Factored, even_shares
from purtensor.solving.iterate import (
    Budget,
    Iterate,
    Step,
    iterate_at,
)
from purtensor.solving.routes import Rest, Routes, bound_by_matrix, routes_of
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.spaces.array_points import ArrayPoints
from purtensor.solving.spaces.array_proof import Misses, misses_left, misses_of, proof_sums
from purtensor.solving.spaces.near_proof import Near, near_sums, write_moves
from purtensor.solving.spaces.space import NEGLIGIBLE, Direction, Sums
from purtensor.solving.spaces.swept_change import FactoredLater, potentials_by_sweeps
from purtensor.solving.stopping import away_from_total

_MOST_ROUTED = 4

_LOST = 2.0**-980
"""The share of the total that a profile may have in the answer where its mass underflowed to 0."""

_LITTLE = 2.0**-10
"""The correction on the basis is usually at most this share of the change."""


@dataclass(slots=True, eq=False)
class ArrayChange:
    """See `Change`: `start` is what the masses miss without it, `near` what `write_moves` sums over the moves.

    `missed` is off by `unsure` at most.
    """

    point: Iterate
    potentials: FloatArray
    factored: Factored
    start: Misses
    moves: FloatArray
    near: Near
    missed: FloatArray = field(init=False)
    unsure: FloatArray = field(init=False)
    left: float = field(init=False)
    uneven: float = field(init=False)

    @property
    def masses(self) -> FloatArray:
        """The masses that are moved."""
        return self.point.masses

    @property
    def size(self) -> float:
        """The sum of |moves|."""
        return self.near.size

    @property
    def square(self) -> float:
        """The sum of moves^2 / p."""
        return self.near.square


def _is_little(rest: FloatArray, change: ArrayChange) -> bool:
    """Return whether the correction on the basis does not affect the bound of a change."""
    total, square = sum_rest(rest, change.masses)
    return total <= _LITTLE * change.size and square <= _LITTLE**2 * change.square


@dataclass(slots=True, eq=False)
class ArraySpace(ArrayPoints):
    """A Problem, as all algorithms see it: see `purtensor.solving.spaces.space` for what each method returns."""

    _shares: FloatArray | None = field(default=None)
    _basis: Basis | None = field(default=None)
    _routes: Routes | Literal[False] | None = field(default=False)

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
        miss = self.problem.targets - self._measure_point(point)[0]
        found, _ = hessian_of(self.problem).factor_and_solve(self._weights(point, floor), miss)
        return Direction(found, inner_product(miss, found))

    def scale_point(self, point: Iterate) -> tuple[Iterate, float]:
        mass = self.mass(point)
        if not away_from_total(mass, self.total):
            return point, 0.0
        # a constant in the potentials would say the same, but what exp made of them would be rounded anew
        return Iterate(point.potentials, point.masses * (self.total / mass)), UNIT

    def first_change(self, point: Iterate, floor: float) -> ArrayChange | None:
        problem = self.problem
        start = misses_of(problem, point.masses)
        swept = potentials_by_sweeps(problem, point.masses, self.residual(point).l1) if floor == 0.0 else None
        if swept is not None:
            return self._make_change(point, swept, FactoredLater(problem, point.masses), start)
        hessian = hessian_of(problem)
        # two constraints have routes, whatever the form
        if isinstance(hessian, Dense) and floor == 0.0 and self.constraints > 2:
            shifted = hessian.factor_shifted(point.masses)
            if shifted is not None:
                change = self._make_change(point, shifted.solve(start.missed), shifted, start)
                # where the matrix is hardly above the shift, the solution is none
                if self._sums_near(change) is not None:
                    return change
        found, factored = hessian.factor_and_solve(self._weights(point, floor), start.missed)
        return self._make_change(point, found, factored, start)

    def refine(self, change: ArrayChange) -> ArrayChange:
        found = change.potentials + change.factored.solve(change.missed)
        return self._make_change(change.point, found, change.factored, change.start)

    def sums(self, point: Iterate, change: ArrayChange) -> Sums | None:
        found = self._sums_near(change)
        return self._sums_on_basis(point, change) if found is None else found

    def _sums_near(self, change: ArrayChange) -> Sums | None:
        """Return what a change proves where norms of the rest of the misses suffice; else None."""
        if change.left <= NEGLIGIBLE * self.total:
            for rest in self._rests(change):
                found = near_sums(self.problem, change.near, rest)
                if found is not None:
                    return found
        return None

    def _rests(self, change: ArrayChange) -> Iterator[Rest]:
        """Yield what the rest of the misses takes at most, the cheapest bound first."""
        missed = np.abs(change.missed) + change.unsure
        if isinstance(change.factored, ShiftedDense):
            yield bound_by_matrix(change.factored, missed, self.mass(change.point))
        if self._routes is False:
            self._routes = routes_of(self.problem)
        if self._routes is not None:
            yield self._routes.bound(missed, change.near.inverse, -change.near.lowest)
            if self._routes.form is not None:
                yield self._routes.bound_by_slab(missed, change.masses)

    def _sums_on_basis(self, point: Iterate, change: ArrayChange) -> Sums | None:
        """Return what a change proves where the profiles are known that take the rest of the misses."""
        if self._basis is None:
            self._basis = heaviest_basis(self.problem, point.masses)
        return None if self._basis is None else self._sums_on(self._basis, point, change)

    def _sums_on(self, basis: Basis, point: Iterate, change: ArrayChange) -> Sums:
        """Return the sums of a change whose rest is left to a basis."""
        most = NEGLIGIBLE * self.total
        met, rest = self.meet(basis, change)
        found = self._proof(point, met.moves, met.potentials, rest)
        # whole numbers meet the targets as they are, which on a face known to rounding only are not those of q
        certain = self.problem.face_rounding is None
        if certain and not found.feasible and met.left <= most:
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
        return heaviest_basis(self.problem, point.masses) if self._basis is None else self._basis

    def meet(self, basis: Basis, change: ArrayChange) -> tuple[ArrayChange, FloatArray]:
        """Return a change whose misses the basis has met, and no less than what it lacks of an exact one."""
        most = NEGLIGIBLE * self.total
        self._measure(change)
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

    def _make_change(self, point: Iterate, potentials: FloatArray, factored: Factored, start: Misses) -> ArrayChange:
        problem, missing = self.problem, float(start.missed[self.problem.system.block(0)].sum())
        moved = write_moves(problem, (point.masses, point.potentials), potentials, missing)
        change = ArrayChange(point, potentials, factored, start, *moved)
        self._take(change, *misses_left(problem, start, change.moves, change.size, change.near.largest))
        return change

    def _measure(self, change: ArrayChange) -> None:
        """Find out what a change leaves of the misses, to twice the digits of float64."""
        self._take(change, *misses_of(self.problem, change.masses, change.moves)[:2])

    def _take(self, change: ArrayChange, missed: FloatArray, unsure: FloatArray) -> None:
        problem, system = self.problem, self.problem.system
        change.missed, change.unsure = missed, unsure
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
