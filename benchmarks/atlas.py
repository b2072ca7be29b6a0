"""The atlas of rates: exact spectra of the sweep at the projections of 12,096 small PUR problems, as one Parquet file.

`python -m benchmarks.atlas FOLDER --part K/N` computes a part of the grid, and without `--part` the parts are joined
to the file of `purtensor.studies.atlas`. The same grid gives the same numbers; notes/atlas.md tells its laws.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import purtensor as pt
from purtensor._typing import FloatArray
from purtensor.problems.pur import regularize_masses
from purtensor.solving.convergence.observed import course_of
from purtensor.solving.problem import build_problem
from purtensor.solving.solve import run
from purtensor.solving.stopping import Stopping
from purtensor.studies.atlas import GRID, PATH

SEEDS = 12
_WATCHED = 12
"""Of so many problems one is also solved, by sweeps and by Newton's method."""

_MOST_SWEEPS = 20_000
_SLOWEST_WATCHED = 2000.0


def grid() -> Iterator[dict[str, float]]:
    """Yield what each problem is made of."""
    axes = [GRID[name] for name in GRID]
    for values in itertools.product(*axes, range(SEEDS)):
        yield dict(zip([*GRID, "seed"], values, strict=True))


def counts_of(point: dict[str, float]) -> FloatArray:
    """Return records [y, s, x] drawn from a population: groups of unequal size that x tells apart, biased responses."""
    rng = np.random.default_rng([int(point["seed"]), int(point["responses"]), int(point["unprotected"])])
    responses, protected, unprotected = (int(point[name]) for name in ("responses", "protected", "unprotected"))
    shares = np.full(protected, (1.0 - point["smallest"]) / (protected - 1))
    shares[0] = point["smallest"]
    of_x = rng.dirichlet(np.full(unprotected, 1.0))
    groups = shares[:, None] * np.exp(rng.standard_normal((protected, unprotected)))
    groups *= of_x / groups.sum(axis=0)
    tilt = rng.standard_normal((responses, protected, 1)) * 0.5 + rng.standard_normal((responses, 1, unprotected))
    population = groups * np.exp(tilt) / np.exp(tilt).sum(axis=0)
    return rng.multinomial(int(point["records"]), population.ravel() / population.sum()).reshape(population.shape) * 1.0


class Spectrum:
    """PUR on a dense table f [y, s, x], in dense algebra that shares nothing with the package's."""

    def __init__(self, f: FloatArray) -> None:
        codes = np.argwhere(f > 0)
        self.reference = f[f > 0]
        self.rows = [
            (codes[:, None, pair] == np.unique(codes[:, pair], axis=0)).all(axis=2).T.astype(float)
            for pair in ([0, 1], [0, 2], [1, 2])
        ]
        joint = [np.add.reduceat(f, [0], axis=axis) for axis in (2, 1, 0)]
        responses, groups = f.sum((1, 2)), f.sum((0, 2))
        tables = [np.outer(responses, groups)[:, :, None], joint[1], joint[2]]
        self.targets = np.concatenate([np.broadcast_to(t, _over(t, f))[t > 0] for t in tables])
        self.matrix = np.vstack(self.rows)

    def projection(self) -> FloatArray | None:
        """Return the projection by Newton's method on all rows; None where it is not found inside."""
        p, value = self.reference.copy(), -math.inf
        potentials = np.zeros(len(self.matrix))
        direction, length = np.zeros_like(potentials), 1.0
        for _ in range(80):
            trial = potentials + length * direction
            with np.errstate(over="ignore"):
                masses = self.reference * np.exp(self.matrix.T @ trial)
            dual = float(self.targets @ trial - masses.sum())
            if not dual >= value - 1e-14:
                length /= 2.0
                if length < 1e-6:
                    return None
                continue
            potentials, p, value = trial, masses, dual
            miss = self.targets - self.matrix @ p
            if np.abs(miss).max() < 1e-14 or (length == 1.0 and np.abs(direction).max() < 1e-10 and direction.any()):
                return p if (p > 0).all() and np.abs(miss).max() < 1e-12 else None
            if not (p > 0).all():
                return None
            hessian = (self.matrix * p) @ self.matrix.T
            scale = 1.0 / np.sqrt(np.diag(hessian))
            direction, length = scale * _solved(hessian * scale[:, None] * scale, scale * miss, self.rank), 1.0
        return None

    @property
    def rank(self) -> int:
        """The rank of the constraints on the support, from whole numbers."""
        return int(np.linalg.matrix_rank(self.matrix))

    def rates(self, p: FloatArray) -> dict[str, float]:
        """Return sweeps a decade: of the two slowest errors, of the slabs alone, and with U and R in one step."""
        root = np.sqrt(p / p.sum())
        bases = [_basis(rows * root, len(rows)) for rows in self.rows]
        ranks = [int(np.linalg.matrix_rank(np.vstack(self.rows[1:]))), self.rank]
        inner = _basis(
            np.vstack([rows * root / np.linalg.norm(rows * root, axis=1)[:, None] for rows in self.rows[1:]]), ranks[0]
        )
        whole = _basis(np.vstack([bases[0].T, inner.T]), ranks[1])
        swept = whole
        for basis in bases:
            swept = swept - basis @ (basis.T @ swept)
        values = np.sort(np.abs(np.linalg.eigvals(whole.T @ swept)))[::-1]
        sizes = [basis.shape[1] for basis in bases]
        return {
            "rate": _per_decade(values[0]),
            "second": _per_decade(values[1]),
            "slab": _per_decade(_below_one(bases[1].T @ bases[2], sizes[1] + sizes[2] - ranks[0])),
            "merged": _per_decade(_below_one(bases[0].T @ inner, sizes[0] + ranks[0] - ranks[1])),
        }


def _over(table: FloatArray, f: FloatArray) -> tuple[int, ...]:
    return tuple(size if size == 1 else f.shape[axis] for axis, size in enumerate(table.shape))


def _solved(matrix: FloatArray, right: FloatArray, rank: int) -> FloatArray:
    values, vectors = np.linalg.eigh(matrix)
    return vectors[:, -rank:] @ ((vectors[:, -rank:].T @ right) / values[-rank:])


def _basis(rows: FloatArray, rank: int) -> FloatArray:
    return np.linalg.svd(rows, full_matrices=False)[2][:rank].T


def _below_one(cosines: FloatArray, ones: int) -> float:
    values = np.linalg.svd(cosines, compute_uv=False)
    return float(values[ones] ** 2) if len(values) > ones else 0.0


def _per_decade(factor: float) -> float:
    return math.log(10.0) / -math.log(factor) if 1e-6 < factor < 1.0 else 0.0 if factor <= 1e-6 else math.inf


def watched(f: FloatArray, rate: float) -> dict[str, float]:
    """Return what real runs took: sweeps and Newton steps to 1e-10, and the rate that is seen."""
    table = xr.DataArray(
        f, dims=list("ysx"), coords={name: range(size) for name, size in zip("ysx", f.shape, strict=True)}
    )
    problem = build_problem(table, pt.pur(table, response="y", protected="s")).arrays

    def made(solver: object) -> float:
        found = run(problem, solver, Stopping(1e-10, "residual", _MOST_SWEEPS, math.inf))
        return float(found.iterations) if found.termination.converged else math.nan

    told = {"sweeps": made(pt.IPF()), "newton": made(pt.Newton()), "newton_at_once": made(pt.Newton(warm_up=0))}
    if not 0.0 < rate < _SLOWEST_WATCHED:
        return told
    exact = run(problem, pt.Newton(), Stopping(0.0, "residual", 60, math.inf)).iterate.potentials
    course = course_of(problem, pt.IPF(), exact, smallest=1e-11, most=_MOST_SWEEPS)
    return told | {
        "observed": course.per_decade(course.errors, 1e-11),
        "by_residuals": course.per_decade(course.residuals, 1e-10),
    }


def part(which: int, of: int) -> pd.DataFrame:
    """Return every so many-th problem of the grid."""
    rows = []
    for number, point in enumerate(grid()):
        if number % of != which:
            continue
        counts = counts_of(point)
        f = regularize_masses(counts, point["strength"])
        f /= f.sum()
        spectrum = Spectrum(f)
        p = spectrum.projection()
        row = {
            "number": number,
            **point,
            "profiles": len(spectrum.reference),
            "observed_profiles": int((counts > 0).sum()),
        }
        if p is not None:
            row |= spectrum.rates(p)
            if number % _WATCHED == number // _WATCHED % _WATCHED:
                row |= watched(f, row["rate"])
        rows.append(row)
    return pd.DataFrame(rows)


def join(parts: Sequence[Path]) -> pd.DataFrame:
    """Return all problems in the order of the grid, in small types."""
    whole = pd.concat([pd.read_parquet(path) for path in parts]).sort_values("number", ignore_index=True)
    assert whole["number"].tolist() == list(range(len(whole))), "a part is missing"
    whole = whole.drop(columns="number")
    small = {name: "int32" if name in ("records",) else "int16" for name in whole if whole[name].dtype.kind == "i"}
    return whole.astype(
        small | {name: "float32" for name in whole if name not in small and name not in ("strength", "smallest")}
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute a part, or join them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.atlas")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", help="K/N, K from 0")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.part:
        which, of = map(int, options.part.split("/"))
        part(which, of).to_parquet(options.folder / f"{which}.parquet")
        return
    join(sorted(options.folder.glob("*.parquet"))).to_parquet(
        PATH, compression="zstd", compression_level=19, index=False
    )
    print(f"{PATH}: {PATH.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
