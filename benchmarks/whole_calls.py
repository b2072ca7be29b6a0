"""Whole calls, from a table to the certified answer, and what users would write instead of them."""

from __future__ import annotations

import gc
import itertools
import os
import tracemalloc
from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr

import purtensor as pt
from purtensor._threads import VARIABLE
from purtensor._typing import FloatArray, Table


def dense_table(responses: int, protected: int, unprotected: int) -> Table:
    """Return a dense table over y, s and x with mass in every cell, x last; the same on every call."""
    rng = np.random.default_rng(0)
    cells = rng.dirichlet(np.full(responses * protected, 2.0), size=unprotected)
    weighed = cells * rng.gamma(1.0, size=(unprotected, 1))
    values = np.ascontiguousarray(weighed.reshape(unprotected, responses, protected).transpose(1, 2, 0))
    axes = {"y": range(responses), "s": range(protected), "x": range(unprotected)}
    return xr.DataArray(values / values.sum(), coords=axes, dims=tuple(axes))


def pur_in_full(table: Table) -> object:
    """Make the conditions of PUR, project onto them, and ask for the proof."""
    return pt.project(table, pt.pur(table, response="y", protected="s")).tv_bound


def pur_by_numpy(values: FloatArray, tolerance: float = 1e-10) -> FloatArray:
    """Return the same with three lines a constraint, until the misses are within the tolerance, and without a proof."""
    parity = np.multiply.outer(values.sum((1, 2)), values.sum((0, 2)))
    utility, realism = values.sum(1), values.sum(0)
    masses, missed = values.copy(), np.inf
    while missed > tolerance:
        masses *= (parity / masses.sum(2))[:, :, None]
        masses *= (utility / masses.sum(1))[:, None, :]
        masses *= (realism / masses.sum(0))[None, :, :]
        missed = max(np.abs(masses.sum(2) - parity).max(), np.abs(masses.sum(1) - utility).max())
    return masses


def pur_by_ipfn(table: Table, tolerance: float = 1e-10) -> FloatArray:
    """Return the same by ipfn, which takes arrays and does not prove anything."""
    from ipfn.ipfn import ipfn  # no dependency of this package

    values = table.values
    parity = np.multiply.outer(values.sum((1, 2)), values.sum((0, 2)))
    aggregates, axes = [parity, values.sum(1), values.sum(0)], [[0, 1], [0, 2], [1, 2]]
    masses: FloatArray = ipfn(values.copy(), aggregates, axes, convergence_rate=tolerance).iteration()
    return masses


def adult_people(size: int = 30_000) -> pd.DataFrame:
    """Return a frame of people drawn from the Adult sample, a row each, as a user has them."""
    return pt.to_records(pt.sample(pt.datasets.adult(), size, seed=0))


def frame_in_full(people: pd.DataFrame) -> object:
    """Go from a frame to the certified answer."""
    f = pt.regularize(pt.tabulate(people), response="income")
    return pt.project(f, pt.pur(f, response="income", protected=["gender", "race"])).tv_bound


def frame_by_numpy(people: pd.DataFrame) -> FloatArray:
    """Go from a frame to an answer with what pandas and numpy have: factorize, bincount, and the loop on full slabs."""
    others = [name for name in people if name not in ("income", "gender", "race")]
    groups = [["income"], ["gender", "race"], others]
    codes = [people.groupby(names, sort=False, observed=True).ngroup().to_numpy() for names in groups]
    sizes = [int(code.max()) + 1 for code in codes]
    counts = np.bincount(np.ravel_multi_index(codes, sizes), minlength=int(np.prod(sizes))).reshape(sizes)
    seen = counts.sum(0) > 0
    values = np.where(seen, counts + 1e-4, 0.0) / (counts.sum() + 1e-4 * 2 * seen.sum())
    parity = np.multiply.outer(values.sum((1, 2)), values.sum((0, 2)))
    utility, realism = values.sum(1), values.sum(0)
    masses, missed = values.copy(), np.inf
    while missed > 1e-10:
        masses *= (parity / masses.sum(2))[:, :, None]
        masses *= (utility / masses.sum(1))[:, None, :]
        masses *= (realism / np.where(seen, masses.sum(0), 1.0))[None, :, :]
        missed = max(np.abs(masses.sum(2) - parity).max(), np.abs(masses.sum(1) - utility).max())
    return masses


def pairs_of_attributes(profiles: int, attributes: int = 20) -> tuple[Table, list[tuple[str, str]]]:
    """Return a sparse table of profiles over attributes of three categories, and all pairs of attributes."""
    rng = np.random.default_rng(0)
    names = [f"a{k}" for k in range(attributes)]
    columns = dict(zip(names, rng.integers(0, 3, (attributes, profiles)), strict=True))
    return pt.tabulate(columns, weights=rng.random(profiles) + 0.1), list(itertools.combinations(names, 2))


class Raking:
    """Weighted records with as many columns as categories, and the totals of each category of each column."""

    def __init__(self, records: int, columns: int = 10) -> None:
        rng = np.random.default_rng(0)
        shares = rng.dirichlet(np.full(columns, 5.0), size=columns)
        codes = [rng.choice(columns, records, p=own) for own in shares]
        tilt = np.exp(sum(rng.normal(0.0, 0.12, columns)[code] for code in codes))
        self.weights = rng.gamma(5.0, size=records) + 0.5
        self.people = pd.DataFrame({f"c{k}": code for k, code in enumerate(codes)})
        wanted = self.weights * tilt / (self.weights @ tilt)
        self.totals = {f"c{k}": np.bincount(code, wanted, columns) for k, code in enumerate(codes)}

    def in_full(self) -> object:
        """Go from the frame to the certified answer."""
        constraints = [
            pt.Marginal(xr.DataArray(total, coords=[(name, range(len(total)))])) for name, total in self.totals.items()
        ]
        return pt.project(pt.tabulate(self.people, weights=self.weights), constraints).tv_bound

    def by_newton(self, tolerance: float = 1e-12) -> FloatArray:
        """Return the weights by Newton's method on a dense matrix of indicators, without a proof."""
        # one category of every column but the first follows from the others
        kept = [(name, k) for n, name in enumerate(self.people) for k in range(n > 0, len(self.totals[name]))]
        design = np.stack([self.people[name].to_numpy() == k for name, k in kept], axis=1).astype(np.float64)
        totals, theta = np.array([self.totals[name][k] for name, k in kept]), np.zeros(len(kept))
        while True:
            weights = self.weights / self.weights.sum() * np.exp(design @ theta)
            missed = totals - weights @ design
            if np.abs(missed).max() <= tolerance:
                return weights
            theta += np.linalg.solve(design.T @ (design * weights[:, None]), missed)


def on_threads(count: int, call: Callable[[], object]) -> object:
    """Return what a call returns that may use so many threads."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(count)
    try:
        return call()
    finally:
        os.environ.pop(VARIABLE)
        if before is not None:
            os.environ[VARIABLE] = before


def memory_in_tables(table: Table, call: Callable[[], object]) -> tuple[float, float]:
    """Return the peak of what a call allocates, and what its result holds, in sizes of the table."""
    call()
    tracemalloc.start()
    try:
        kept = call()
        gc.collect()
        held, peak = tracemalloc.get_traced_memory()
        assert kept is not None
        return peak / table.nbytes, held / table.nbytes
    finally:
        tracemalloc.stop()


class Transport:
    """Random weights on random points of two unit squares, and the kernel exp(-distance^2 / reach) between them."""

    def __init__(self, points: int, reach: float) -> None:
        rng = np.random.default_rng(0)
        one, other = rng.random((points, 1, 2)), rng.random((1, points, 2))
        self.kernel = np.exp(-((one - other) ** 2).sum(axis=2) / reach)
        self.weights = tuple(rng.dirichlet(np.full(points, 5.0)) for _ in range(2))
        places = [("i", range(points)), ("j", range(points))]
        self.reference = xr.DataArray(self.kernel, coords=places)
        self.constraints = tuple(
            pt.Marginal(xr.DataArray(weights, coords=[place]))
            for weights, place in zip(self.weights, places, strict=True)
        )

    def sweeps_by_numpy(self, count: int) -> FloatArray:
        """Make sweeps by two products of a matrix and a vector each, as packages for optimal transport do."""
        rows, columns = self.weights
        v = np.ones(len(columns))
        for _ in range(count):
            u = rows / (self.kernel @ v)
            v = columns / (self.kernel.T @ u)
        return v

    def best_relaxation(self, tolerance: float = 1e-9) -> tuple[float, int]:
        """Return the relaxation with which the loop below takes the fewest sweeps, and how many: users tune it so."""
        found = [(self.relaxed_by_numpy(one, tolerance), one) for one in np.arange(1.0, 1.96, 0.05)]
        sweeps, relaxation = min(found)
        return float(relaxation), sweeps

    def relaxed_by_numpy(self, relaxation: float, tolerance: float = 1e-9, most: int = 3_000) -> int:
        """Sweep with momentum, as packages for optimal transport do, until no row misses more; return the sweeps."""
        rows, columns = self.weights
        u, v = np.ones(len(rows)), np.ones(len(columns))
        with np.errstate(all="ignore"):  # too large a relaxation diverges
            for n in range(most):
                sums = self.kernel @ v
                if n and np.abs(u * sums - rows).max() <= tolerance:
                    return n
                u = u ** (1.0 - relaxation) * (rows / sums) ** relaxation
                v = v ** (1.0 - relaxation) * (columns / (self.kernel.T @ u)) ** relaxation
        return most

    def project(self, tolerance: float = 1e-9) -> pt.Projection:
        """Return the projection with its proof, by the default solver."""
        return pt.project(self.reference, self.constraints, tolerance=tolerance)
