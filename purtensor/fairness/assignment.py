"""People assigned to categories at given rates, so that the least is lost: a transport problem, solved exactly."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.errors import NotConvergedError

_TIES = 1e-13
"""The largest preference that equal gains get: it makes the best assignment unique, and so a vertex."""

_ROUNDING = 1e-14
"""What is left to move, total mass 1, when the rates count as met."""


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Which share of each profile goes to which category.

    Attributes
    ----------
    shares
        Shape (profiles, categories), rows of sum 1: 0 or 1 but for at most categories - 1 profiles.
    gain
        The mean gain, sum of mass * share * gain over the mass.
    gap
        How much more, at most, any assignment at these rates could gain: by weak duality, so it proves the answer.
    """

    shares: FloatArray
    gain: float
    gap: float


def best_assignment(masses: FloatArray, gains: FloatArray, rates: FloatArray) -> Assignment:
    """Return the assignment of profiles to categories at the given rates that gains the most.

    Everybody starts in the category of largest gain; then mass moves from categories that have too much to those that
    have too little along the cheapest way, which may lead over others (successive shortest paths).

    Parameters
    ----------
    masses
        Shape (profiles,): positive.
    gains
        Shape (profiles, categories): what one unit of mass gains in each category.
    rates
        Shape (categories,): the share of all mass that each category gets; sum 1.

    Examples
    --------
    >>> found = best_assignment(np.array([1.0, 1.0, 2.0]), np.array([[0.1, 0.9], [0.4, 0.6], [0.8, 0.2]]),
    ...                         np.array([0.625, 0.375]))
    >>> found.shares.tolist(), round(found.gain, 6)
    ([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]], 0.75)
    """
    wanted = rates / rates.sum()
    flow = _Flow.start(masses / masses.sum(), gains)
    flow.meet(wanted)
    shares = flow.moved / flow.moved.sum(axis=1, keepdims=True)
    gain = float((flow.masses[:, None] * shares * gains).sum())
    prices = _find_prices(flow.moved, gains)
    # notes/fair_decisions.md, equation 4
    bound = float(flow.masses @ (gains + prices).max(axis=1) - wanted @ prices)
    return Assignment(shares, gain, max(0.0, bound - gain))


@dataclass(slots=True, eq=False)
class _Flow:
    """Where the mass is, and for each pair of categories the profiles that may move, cheapest first.

    Attributes
    ----------
    masses, moved
        Of the profiles, total 1; and how much of each is in which category.
    gains
        With the preferences that break ties.
    heaps
        For each pair (from, to) entries (loss, profile); those without mass in `from` any more are stale.
    """

    masses: FloatArray
    gains: FloatArray
    moved: FloatArray
    heaps: dict[tuple[int, int], list[tuple[float, int]]] = field(default_factory=dict)

    @classmethod
    def start(cls, masses: FloatArray, gains: FloatArray) -> _Flow:
        profiles, categories = gains.shape
        # ties fall at random, but the same way in every run; the preferences are too small to cost anything
        preferences = np.random.default_rng(0).random(gains.shape) * _TIES
        flow = cls(masses, gains + preferences, np.zeros(gains.shape))
        first = flow.gains.argmax(axis=1)
        flow.moved[np.arange(profiles), first] = masses
        for one in range(categories):
            members = np.flatnonzero(first == one)
            for other in range(categories):
                losses = flow.gains[members, one] - flow.gains[members, other]
                # a sorted list is a heap
                flow.heaps[one, other] = sorted(zip(losses.tolist(), members.tolist(), strict=True))
        return flow

    def meet(self, wanted: FloatArray) -> None:
        """Move mass until each category has what is wanted."""
        surplus = self.moved.sum(axis=0) - wanted
        profiles, categories = self.gains.shape
        # each move empties a profile's place, or settles a category
        for _ in range(100 + 4 * profiles * categories**2):
            if surplus.max() <= _ROUNDING:
                return
            path = self._find_path(surplus)
            amount = min(surplus[path[0]], -surplus[path[-1]], *(self._movable(step) for step in pairwise(path)))
            for step in pairwise(path):
                self._move(step, amount)
            surplus[path[0]] -= amount
            surplus[path[-1]] += amount
        raise NotConvergedError("the fair decisions could not be computed: the masses differ too much in size")

    def _find_path(self, surplus: FloatArray) -> list[int]:
        """Return the categories on the cheapest way from one that has too much to one that has too little."""
        categories = len(surplus)
        losses = {pair: top[0] for pair in self.heaps if (top := self._top(pair)) is not None}
        distance = np.where(surplus > _ROUNDING, 0.0, np.inf)
        before: list[int | None] = [None] * categories
        # Bellman and Ford, since what moves back has a negative loss
        for _ in range(categories - 1):
            for (one, other), loss in losses.items():
                if distance[one] + loss < distance[other] - _TIES * 1e-3:  # not for rounding alone, which would circle
                    distance[other], before[other] = distance[one] + loss, one
        path = [int(np.where(surplus < 0, distance, np.inf).argmin())]
        while (last := before[path[0]]) is not None:
            path.insert(0, last)
        return path

    def _top(self, pair: tuple[int, int]) -> tuple[float, int] | None:
        heap = self.heaps[pair]
        while heap and self.moved[heap[0][1], pair[0]] == 0.0:
            heapq.heappop(heap)
        return heap[0] if heap and pair[0] != pair[1] else None

    def _movable(self, step: tuple[int, int]) -> float:
        top = self._top(step)
        return 0.0 if top is None else float(self.moved[top[1], step[0]])

    def _move(self, step: tuple[int, int], amount: float) -> None:
        one, other = step
        profile = self.heaps[step][0][1]
        is_new = self.moved[profile, other] == 0.0
        self.moved[profile, one] -= amount
        self.moved[profile, other] += amount
        if is_new:
            for target in range(self.gains.shape[1]):
                loss = float(self.gains[profile, other] - self.gains[profile, target])
                heapq.heappush(self.heaps[other, target], (loss, profile))


def _find_prices(moved: FloatArray, gains: FloatArray) -> FloatArray:
    """Return prices u by which each profile is where gain + price is largest, as far as there are such prices."""
    categories = gains.shape[1]
    apart = np.zeros((categories, categories))
    for one in range(categories):
        there: IntArray = np.flatnonzero(moved[:, one] > 0)
        apart[one] = (gains[there, one][:, None] - gains[there]).min(axis=0) if len(there) else np.inf
    prices = np.zeros(categories)
    # Bellman and Ford: the prices are the shortest distances between categories
    for _ in range(categories):
        prices = np.minimum(prices, (prices[:, None] + apart).min(axis=0))
    return prices
