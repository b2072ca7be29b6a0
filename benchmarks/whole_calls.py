"""Whole calls, from a table to the certified answer, and what users would write instead of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

import purtensor as pt
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


def pur_by_numpy(table: Table, sweeps: int) -> Callable[[], FloatArray]:
    """Return the same with three lines a constraint, as many sweeps as ours takes, and without a proof."""
    values = table.values

    def loop() -> FloatArray:
        parity = np.multiply.outer(values.sum((1, 2)), values.sum((0, 2)))
        utility, realism = values.sum(1), values.sum(0)
        masses = values.copy()
        for _ in range(sweeps):
            masses *= (parity / masses.sum(2))[:, :, None]
            masses *= (utility / masses.sum(1))[:, None, :]
            masses *= (realism / masses.sum(0))[None, :, :]
        return masses

    return loop


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
