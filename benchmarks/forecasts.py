"""How good forecasts of sweeps are, on random PUR problems: `python -m benchmarks.forecasts [PROBLEMS]`.

Runs of 20 to 100,000 sweeps to 1e-10 are stopped after 20 sweeps and after a half of all (notes/forecasts.md).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import xarray as xr

import purtensor as pt
from purtensor._typing import Table

_TOLERANCE = 1e-10
_MOST = 100_000


def pur_problem(seed: int) -> tuple[Table, tuple[pt.Marginal, ...]]:
    """Return a PUR problem of random counts with pseudo-counts of strength 1e-5 to 1."""
    rng = np.random.default_rng(seed)
    shape = (*rng.integers(2, 4, 2), rng.integers(3, 30))
    masses = rng.dirichlet(np.full(np.prod(shape), 0.3))
    counts = rng.multinomial(int(10 ** rng.uniform(2, 5)), masses).reshape(shape).astype(np.float64)
    coords = {name: [f"{name}{k}" for k in range(size)] for name, size in zip("ysx", shape, strict=True)}
    table = xr.DataArray(counts, dims=list("ysx"), coords=coords)
    f = pt.regularize(table, strength=10 ** -rng.uniform(0, 5), response="y")
    return f, pt.pur(f, response="y", protected="s")


def forecasts(problems: int) -> Iterator[tuple[int, int, pt.convergence.Forecast]]:
    """Yield the sweeps after which a run was stopped, those that it still needed, and the forecast."""
    for seed in range(problems):
        try:
            reference, constraints = pur_problem(seed)
            whole = pt.project(reference, constraints, solver=pt.IPF(), max_iterations=_MOST, certificate=False)
        except pt.PurtensorError:  # without an answer, or slower than that
            continue
        if whole.iterations < 40 or (whole.diagnosis is not None and whole.diagnosis.implied_zeros.size):
            continue
        for made in (20, whole.iterations // 2):
            early = pt.project(
                reference,
                constraints,
                solver=pt.IPF(),
                max_iterations=made,
                on_failure="return",
                certificate=False,
            )
            yield made, whole.iterations - made, pt.convergence.forecast(early, tolerance=_TOLERANCE)


def main(problems: int) -> None:
    """Print how many forecasts held, how wide they were, and how far off."""
    found = list(forecasts(problems))
    for name, some in (("after 20 sweeps", found[::2]), ("half way", found[1::2])):
        for by in ("answer", "trend"):
            chosen = [(left, one) for _, left, one in some if one.by == by]
            if not chosen:
                continue
            inside = np.mean([one.lower <= left <= one.upper for left, one in chosen])
            near = np.mean(
                [
                    one.lower <= left <= one.upper or abs(one.sweeps - left) <= max(1.0, 0.01 * left)
                    for left, one in chosen
                ]
            )
            off = np.quantile([abs(one.sweeps - left) / left for left, one in chosen], [0.5, 0.9, 0.99])
            wide = np.quantile([(one.upper - one.lower) / left for left, one in chosen], [0.5, 0.9])
            print(
                f"{name}, by {by}: {len(chosen)} runs, inside {inside:.1%}, or within 1 sweep or 1 % {near:.1%}, "
                f"off by {off[0]:.2%}, {off[1]:.2%}, {off[2]:.2%} (50, 90, 99 %), width {wide[0]:.2%}, {wide[1]:.2%}"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
