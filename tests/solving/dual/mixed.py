"""Random problems with rows of every kind and bounds on the cells, and the conditions that their answers must meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from purtensor.solving.dual.columns.entropy import EntropyColumns
from purtensor.solving.dual.problem import DualProblem, RowCosts, dual_problem

KINDS = ("equality", "interval", "upper", "lower", "l1", "quadratic", "kl", "huber", "dead zone")


@dataclass
class Mixed:
    reference: np.ndarray
    rows: RowCosts
    lower: np.ndarray
    upper: np.ndarray
    kinds: list[str]

    @property
    def mass(self) -> float:
        return float(np.clip(self.reference, self.lower, self.upper).sum())

    def problem(self) -> DualProblem:
        return dual_problem(EntropyColumns(self.reference, 1.0, self.lower, self.upper), self.rows, self.mass)


def draw_mixed(seed: int) -> Mixed:
    """Return a problem with a solution: rows of counts, incomes, shares and totals, of kinds at random."""
    rng = np.random.default_rng(seed)
    cells, most = int(rng.integers(4, 40)), int(rng.integers(1, 9))
    reference = np.exp(rng.normal(0, rng.choice([0.3, 1.5, 4]), cells)) * 10.0 ** rng.integers(-2, 4)
    drawn: list[np.ndarray] = []
    while len(drawn) < min(most, cells - 1):
        drawn.extend(_drawn_rows(rng, cells))
    c = np.array([row for row in drawn if np.abs(row).max() > 0] or [np.ones(cells)])
    if rng.random() < 0.3:
        c = np.vstack([c, c[rng.integers(len(c))] * rng.choice([1, 2.0])])
    lower, upper = [(0.0, np.inf), (0.3, 3.0), (0.7, 1.4)][rng.integers(3)]
    low, high = lower * reference, upper * reference
    inside = np.clip(reference * np.exp(rng.normal(0, 0.5, cells)), low, high)
    sums, sizes = c @ inside, np.abs(c) @ inside
    rows = hard_rows(sparse.csr_array(c), sums.copy())
    kinds = [KINDS[rng.integers(len(KINDS))] for _ in c]
    for r, kind in enumerate(kinds):
        kinds[r] = _made_soft(rng, rows, r, kind, sizes[r], float(np.abs(c[r]).max()), bool((c[r] >= 0).all()))
    return Mixed(reference, rows, low, high, kinds)


def hard_rows(coefficients, targets: np.ndarray) -> RowCosts:
    """Return rows that must come to their targets."""
    never, nothing, none = (np.full(len(targets), value) for value in (np.inf, 0.0, np.nan))
    return RowCosts(coefficients, targets.copy(), targets.copy(), never, nothing, none)


def _drawn_rows(rng: np.random.Generator, cells: int) -> list[np.ndarray]:
    kind = rng.integers(5)
    if kind == 0:
        part = rng.integers(0, int(rng.integers(2, 4)), cells)
        return [(part == k).astype(float) for k in range(part.max() + 1)]
    if kind == 1:
        return [rng.poisson(1.2, cells).astype(float)]
    if kind == 2:
        return [np.round(np.exp(rng.normal(9, 1, cells)), 2)]
    if kind == 3:
        within, share = rng.random(cells) < 0.4, rng.random()
        return [(within * (rng.random(cells) < 0.5) - share * within).astype(float)]
    return [np.ones(cells)]


def _made_soft(
    rng: np.random.Generator, rows: RowCosts, r: int, kind: str, size: float, unit: float, positive: bool
) -> str:
    off = rows.lower[r] + size * rng.normal() * 0.2
    width = size * 10.0 ** rng.integers(-5, 0)
    if kind == "interval":
        rows.lower[r] -= width * rng.random()
        rows.upper[r] += width * rng.random()
    elif kind == "upper":
        rows.lower[r] = -np.inf
        rows.upper[r] += size * rng.choice([0, 0.01])
    elif kind == "lower":
        rows.upper[r] = np.inf
        rows.lower[r] -= size * rng.choice([0, 0.01])
    elif kind == "l1":
        rows.lower[r] = rows.upper[r] = off
        rows.absolute[r] = 10.0 ** rng.integers(-3, 2) / unit
    elif kind == "quadratic":
        rows.lower[r] = rows.upper[r] = off
        rows.variance[r] = (size * 10.0 ** rng.integers(-3, 1)) ** 2
    elif kind == "kl" and positive:
        rows.lower[r] = rows.upper[r] = rows.lower[r] * np.exp(rng.normal() * 0.3)
        rows.divergence[r] = 10.0 ** rng.integers(-2, 3) / unit
    elif kind == "huber":
        rows.lower[r] = rows.upper[r] = off
        rows.variance[r], rows.absolute[r] = (size * 0.1) ** 2, 10.0 ** rng.integers(-3, 1) / unit
    elif kind == "dead zone":
        rows.lower[r], rows.upper[r] = off - 0.05 * size, off + 0.05 * size
        rows.variance[r] = (size * 0.01) ** 2
    else:
        return "equality"
    return kind


def lack(mixed: Mixed, masses: np.ndarray, potentials: np.ndarray) -> float:
    """Return how far masses and potentials are from the conditions of optimality, total mass 1 and a row's size 1.

    The conditions are written from the statement of the problem, without slacks: the masses answer the potentials, and
    each row's potential is a slope of what its miss costs.
    """
    rows = mixed.rows
    z = rows.coefficients.T @ potentials
    answer = np.clip(mixed.reference * np.exp(np.minimum(z, 700.0)), mixed.lower, mixed.upper)
    found = [float(np.abs(masses - answer).max())]
    sums = rows.coefficients @ masses
    units = np.asarray(abs(rows.coefficients).max(axis=1).todense()).ravel()
    for r, kind in enumerate(mixed.kinds):
        low, high, t = rows.lower[r], rows.upper[r], float(potentials[r])
        if kind == "kl":
            wanted = high * np.exp(-t / rows.divergence[r])
            found.append(abs(sums[r] - wanted) / units[r])
            continue
        bend = min(max(rows.variance[r] * t, -np.inf), np.inf) if rows.variance[r] else 0.0
        # sums + miss lies in [low, high]; miss = variance t, and anything more where t is the price of a unit
        base = sums[r] + bend
        if np.isfinite(rows.absolute[r]) and abs(t) >= rows.absolute[r] * (1 - 1e-12):
            excess = (low - base) if t > 0 else (base - high)
            found.append(max(0.0, -excess) / units[r] + max(0.0, abs(t) / rows.absolute[r] - 1.0 - 1e-9))
            continue
        if t > 0:
            found.append(abs(base - low) / units[r] if np.isfinite(low) else t)
        elif t < 0:
            found.append(abs(base - high) / units[r] if np.isfinite(high) else -t)
        else:
            found.append(max(0.0, low - base, base - high) / units[r])
    return max(found) / mixed.mass
