"""Draws problems with rows of every kind, bounds, distances and signed references, whose answers are known.

Each is built from its answer: potentials are drawn, the masses that they give are computed in fifty digits, and every
row gets the target, limits or price at which these potentials are optimal. Targets are then rounded to float64, and the
answer to the rounded ones follows by Newton's method in fifty digits on the rows that hold with equality.

Run as `python -m tests.laws.fuzz_rows --seconds 600 --seed 1`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import purtensor as pt
from tests import oracles
from tests.laws.fuzz_bounds import LIMITS, TOLERANCES, Counts

DIGITS = 50
ROUNDING = 4e-16
"""Of a distance over the total: the masses are told as float64 numbers."""

KINDS = ("equality", "interval", "slack", "l1", "l1 beyond", "quadratic", "huber", "huber beyond", "kl", "dead zone")
SOLVERS: tuple[Callable[[], Any], ...] = (lambda: None, lambda: None, pt.Newton, pt.IPF, pt.LBFGS)


class UnsuitableError(Exception):
    """The draw has no answer that is known: it is made again."""


@dataclass
class Row:
    """A row, its potential, and what makes that potential optimal.

    `solved` says what its sum must be at a potential, or None where the potential is given by a price or is 0.
    """

    coefficients: list[int]
    kind: str
    potential: Decimal
    constraint: Any = None
    solved: Callable[[Decimal], Decimal] | None = None


@dataclass
class Drawn:
    """A problem in numbers."""

    reference: list[Decimal]
    signs: list[int]
    low: list[Decimal]
    high: list[Decimal]
    distance: str
    rows: list[Row]
    options: dict[str, Any] = field(default_factory=dict)

    def cell(self, j: int, z: Decimal) -> tuple[Decimal, Decimal]:
        """The size of a cell at the sum of its potentials, and its derivative: 0 at a bound."""
        f, low, high = self.reference[j], self.low[j], self.high[j]
        if self.distance == "logit":
            rate = (high - low) * f / ((f - low) * (high - f))
            x = low + (high - low) / (1 + (high - f) / (f - low) * (-rate * z).exp())
            return x, rate * (x - low) * (high - x) / (high - low)
        x, give = (f * z.exp(),) * 2 if self.distance == "kl" else (f * (1 + z), f)
        if abs(x - low) < f / 1000 or abs(x - high) < f / 1000:
            raise UnsuitableError  # too close to a bound to say on which side of it
        return (x, give) if low < x < high else (min(max(x, low), high), Decimal(0))

    def sizes(self, potentials: list[Decimal]) -> tuple[list[Decimal], list[Decimal]]:
        """The sizes of all cells, and their derivatives."""
        each = [
            self.cell(j, sign * sum(row.coefficients[j] * t for row, t in zip(self.rows, potentials, strict=True)))
            for j, sign in enumerate(self.signs)
        ]
        return [x for x, _ in each], [give for _, give in each]

    def sums(self, row: Row, sizes: list[Decimal]) -> Decimal:
        """The sum of a row."""
        return sum((c * s * x for c, s, x in zip(row.coefficients, self.signs, sizes, strict=True)), Decimal(0))

    @property
    def constraints(self) -> list[Any]:
        """The constraints of all rows but the total, which is an option."""
        return [row.constraint for row in self.rows if row.kind != "total"]

    def apart(self, masses: Any) -> tuple[float, float | None]:
        """How far masses are from the answer, in total variation and, of positive ones that pay by it, in divergence.

        Masses of free totals are compared as they are, over their own total; divergences are over the reference's.
        """
        with localcontext(prec=DIGITS):
            sizes, answer = [abs(Decimal(x)) for x in np.asarray(masses).tolist()], self.answer()
            total, exact = sum(sizes), sum(answer)
            if not total:  # of a free total: a run that was cut short may have potentials at which all masses underflow
                return 1.0, None
            fixed = self.options["total"] != "free"
            by = total / exact if fixed else Decimal(1)
            away = sum(abs(x - by * q) for x, q in zip(sizes, answer, strict=True)) / total / (2 if fixed else 1)
            # masses of free totals may be farther apart than 1, which is what proves nothing
            distance = min(1.0, float(away))
            if self.distance != "kl" or min(self.signs) < 0 or min(sizes) <= 0:
                return distance, None
            terms = sum(q * (q / x).ln() - q + x for x, q in zip(sizes, answer, strict=True) if q > 0)
            return distance, float(terms / (exact if fixed else sum(self.reference)))

    def answer(self) -> list[Decimal]:
        """The sizes of the answer to the targets as they are."""
        t = [row.potential for row in self.rows]
        active = [n for n, row in enumerate(self.rows) if row.solved is not None]
        for _ in range(30):
            sizes, gives = self.sizes(t)
            missing = [self.rows[n].solved(t[n]) - self.sums(self.rows[n], sizes) for n in active]  # type: ignore[misc]
            if max(map(abs, missing), default=Decimal(0)) < Decimal(10) ** (10 - DIGITS) * sum(sizes):
                return sizes
            matrix = [
                [
                    sum(
                        a * b * g
                        for a, b, g in zip(self.rows[n].coefficients, self.rows[m].coefficients, gives, strict=True)
                    )
                    for m in active
                ]
                for n in active
            ]
            for k, n in enumerate(active):
                row, step = self.rows[n], Decimal(10) ** -25
                matrix[k][k] -= (row.solved(t[n] + step) - row.solved(t[n])) / step  # type: ignore[misc]
            for n, move in zip(active, solve(matrix, missing), strict=True):
                t[n] += move
        raise UnsuitableError


def solve(matrix: list[list[Decimal]], right: list[Decimal]) -> list[Decimal]:
    """The solution of positive definite equations whose pivots are no rounding."""
    size = max((matrix[k][k] for k in range(len(matrix))), default=Decimal(1))
    try:
        found = oracles.solved([row[:] for row in matrix], right)
    except ArithmeticError as error:
        raise UnsuitableError from error
    if max(map(abs, found), default=Decimal(0)) * size > Decimal(10) ** 25 * max(map(abs, right), default=Decimal(0)):
        raise UnsuitableError
    return found


def drawn(seed: int, *, fixes_total: bool = False) -> Drawn:
    """The problem of a seed; if a total is fixed, of positive masses that pay by their divergence."""
    random = Random(seed)
    while True:
        try:
            with localcontext(prec=DIGITS):
                problem = _draw(random, fixes_total=fixes_total)
                problem.answer()
                return problem
        except UnsuitableError:
            continue


def _draw(random: Random, *, fixes_total: bool) -> Drawn:
    cells = random.randint(3, 9)
    distance = "kl" if fixes_total else random.choice(("kl", "kl", "kl", "linear", "logit"))
    decades = random.choice((0, 0, 8, 20))
    reference = [Decimal(random.randint(1, 4096)) / 64 / 2 ** random.randint(0, decades) for _ in range(cells)]
    signed = distance == "kl" and not fixes_total and random.random() < 0.35
    signs = [random.choice((1, 1, -1)) if signed else 1 for _ in range(cells)]
    bounded = distance == "logit" or random.random() < 0.4
    ends = random.choice(((0.5, 2.0), (0.25, 4.0), (0.75, 1.5))) if bounded and not signed else (0.0, np.inf)
    low, high = ([f * Decimal(end) for f in reference] for end in ends)
    problem = Drawn(reference, signs, low, high, distance, [])
    problem.options = {"distance": distance, "total": "free"}
    if signed:
        problem.options["signed"] = True
    if bounded and not signed:
        # ratios are to the reference as it is scaled
        cell = random.random() < 0.3 or fixes_total
        table = [_table([float(x) for x in own], problem) for own in (low, high)]
        problem.options["cell_bounds" if cell else "ratio_bounds"] = tuple(table) if cell else ends
    reach = random.choice((1e-6, 0.1, 0.5) if distance != "kl" else (1e-6, 0.1, 1.0, 3.0))
    for _ in range(random.randint(1, min(4, cells - 1))):
        coefficients = _coefficients(random, cells)
        size = max(map(abs, coefficients))
        kind = random.choice(KINDS)
        potential = Decimal(0) if kind in ("slack",) else Decimal(reach * random.gauss(0, 1) / size / 2)
        problem.rows.append(Row(coefficients, kind, potential))
    if fixes_total:  # the reference is scaled to it, which the potential of its row takes back
        problem.rows.append(Row([1] * cells, "total", Decimal(random.gauss(0, 1) / 4)))
    z = [sum(row.coefficients[j] * row.potential for row in problem.rows) for j in range(cells)]
    if distance == "linear" and min(1 + one for one in z) <= Decimal("0.05"):
        raise UnsuitableError  # of negative masses a distance over the total says nothing
    sizes, _ = problem.sizes([row.potential for row in problem.rows])
    for row in problem.rows:
        _pose(random, problem, row, problem.sums(row, sizes), sum(abs(c) * x for c, x in zip(row.coefficients, sizes)))
    if all(row.kind == "slack" for row in problem.rows):
        raise UnsuitableError
    return problem


def _coefficients(random: Random, cells: int) -> list[int]:
    """A marginal's row, members of a household, amounts, or a difference of two groups."""
    kind = random.randrange(4)
    choices = ((0, 1), (0, 1, 2, 3), (0, 1000, 1001, 52_000), (-1, 0, 3))[kind]
    while True:
        row = [random.choice(choices) for _ in range(cells)]
        if any(row):
            return row


def _pose(random: Random, problem: Drawn, row: Row, v: Decimal, size: Decimal) -> None:
    """Give a row what makes its potential optimal."""
    t, entries = row.potential, _table(row.coefficients, problem)
    sign = 1 if t > 0 else -1
    width = size * Decimal(random.choice((1e-4, 0.01, 0.3)))

    def linear(**ends: Any) -> pt.Linear:
        return pt.Linear(entries, **ends)

    def hold(target: float) -> None:
        row.solved = lambda _: Decimal(target)

    if row.kind == "kl" and (min(row.coefficients) < 0 or min(problem.signs) < 0 or v <= 0):
        row.kind = "equality"
    if row.kind == "total":
        problem.options["total"] = target = float(v)
        hold(target)
    elif row.kind == "equality":
        target = float(v)
        row.constraint = linear(target=target)
        hold(target)
    elif row.kind == "slack":
        row.constraint = linear(lower=float(v - width), upper=float(v + width))
    elif row.kind == "interval":
        ends = (float(v), float(v + width)) if sign > 0 else (float(v - width), float(v))
        row.constraint = linear(lower=ends[0], upper=ends[1])
        hold(ends[0] if sign > 0 else ends[1])
    elif row.kind == "l1":
        target, price = float(v), float(abs(t) * 2) or 1.0
        row.constraint = pt.soft(linear(target=target), penalty="l1", strength=price)
        hold(target)
    elif row.kind == "l1 beyond":
        row.potential = sign * Decimal(float(abs(t)))
        row.constraint = pt.soft(linear(target=float(v + sign * width)), penalty="l1", strength=float(abs(t)))
    elif row.kind in ("quadratic", "huber", "huber beyond", "dead zone"):
        _pose_by_errors(random, row, v, size, linear)
    else:
        price = random.choice((0.01, 1.0, 100.0))
        target = float(v * (t / Decimal(price)).exp())
        row.constraint = pt.soft(linear(target=target), penalty="kl", strength=price)
        row.solved = lambda own: Decimal(target) * (-own / Decimal(price)).exp()


def _pose_by_errors(random: Random, row: Row, v: Decimal, size: Decimal, linear: Callable[..., pt.Linear]) -> None:
    """Give a row a target with a standard error, of which the slope is the potential."""
    t, sign = row.potential, 1 if row.potential > 0 else -1
    sd = float(size * Decimal(random.choice((1e-3, 0.1, 1.0))))
    variance = Decimal(sd) ** 2
    if row.kind == "huber beyond":
        # the slope beyond k standard errors is k / sd
        k = float(abs(t)) * sd
        row.potential = sign * Decimal(k) / Decimal(sd)
        beyond = float(v + sign * 2 * Decimal(k) * Decimal(sd))
        row.constraint = pt.soft(linear(target=beyond), penalty="huber", sd=sd, k=k)
        return
    target = float(v + variance * t)
    row.solved = lambda own: Decimal(target) - variance * own
    if row.kind == "dead zone":
        far = float(Decimal(target) + sign * size / 8)
        ends = (target, far) if sign > 0 else (far, target)
        row.constraint = pt.soft(linear(lower=ends[0], upper=ends[1]), sd=sd)
    elif row.kind == "huber":
        row.constraint = pt.soft(linear(target=target), penalty="huber", sd=sd, k=float(abs(t)) * sd * 2 or 1.0)
    else:
        row.constraint = pt.soft(linear(target=target), sd=sd)


def _table(values: Any, problem: Drawn) -> xr.DataArray:
    labels = pd.Index([f"c{j}" for j in range(len(problem.reference))], name="cell")
    return xr.DataArray(np.asarray(values, dtype=np.float64), coords={"cell": labels}, dims="cell")


def attack(
    seed: int,
    counts: Counts,
    project: Callable[..., Any] = pt.project,
    *,
    fixes_total: bool = False,
    weighs: bool = False,
) -> None:
    """Solve the problem of a seed, somehow, and hold what is proved against its exact answer.

    If it `weighs`, the cells are records, whose weights are calibrated.
    """
    problem, random = drawn(seed, fixes_total=fixes_total), Random(seed + 1)
    options = {"solver": random.choice(SOLVERS)(), "tolerance": random.choice(TOLERANCES), "on_failure": "return"}
    limit = random.choice(LIMITS)
    if weighs and min(problem.signs) > 0:
        found = calibrate(problem, options)
        masses, result, checked = np.asarray(found.weights), found.result, None
    else:
        reference = _table([float(f * s) for f, s in zip(problem.reference, problem.signs, strict=True)], problem)
        result = project(reference, problem.constraints, max_iterations=limit, **options, **problem.options)
        masses, checked = result.table.values, pt.verify(result)
        counts.judge(seed, result, checked)
    distance, divergence = problem.apart(masses)
    what = "signed" if min(problem.signs) < 0 else problem.distance
    what += ", bounds" if {"cell_bounds", "ratio_bounds"} & set(problem.options) else ""
    what += ", total" if fixes_total else ""
    what = "calibrate" if checked is None else what
    for kind, proof in ((what, result), ("verify", checked)):
        if proof is not None:
            counts.hold(f"{kind}: tv_bound", seed, distance, proof.tv_bound, ROUNDING)
    if divergence is not None:
        counts.hold(f"{what}: bound", seed, divergence, result.bound, 1e-30)
    for row in problem.rows:
        counts.hold(f"with a row {row.kind}: tv_bound", seed, distance, result.tv_bound, ROUNDING)


def calibrate(problem: Drawn, options: dict[str, Any]) -> pt.Calibration:
    """Return the weights of records that are the cells."""
    records = pd.DataFrame({"cell": [f"c{j}" for j in range(len(problem.reference))]})
    asked = {name: value for name, value in problem.options.items() if name != "signed"}
    ratios, cells = asked.pop("ratio_bounds", None), asked.pop("cell_bounds", None)
    weights = [float(f) for f in problem.reference]
    limits = None if cells is None else tuple(end.values for end in cells)
    return pt.calibrate(
        records, problem.constraints, weights=weights, bounds=ratios, weight_bounds=limits, **asked, **options
    )


def main() -> None:
    """Draw for so many seconds, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    counts, end, seed = Counts(), time.monotonic() + asked.seconds, asked.seed * 10**7
    while time.monotonic() < end:
        attack(seed, counts, fixes_total=seed % 4 == 1, weighs=seed % 4 >= 2 and seed % 3 == 0)
        seed += 1
    print(f"{seed - asked.seed * 10**7} problems\n{counts}")  # noqa: T201


if __name__ == "__main__":
    main()
