"""Small tasks that together call every kernel, with each of the types that real tables bring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np
import pandas as pd
import xarray as xr

from purtensor.constraints.marginals import marginals_of
from purtensor.fairness.pur import pur
from purtensor.inference.delta_method import standard_errors
from purtensor.problems.registry import generate, load
from purtensor.projection.convergence import convergence_rate
from purtensor.projection.diagnose import diagnose
from purtensor.projection.interruption import require_uninterrupted
from purtensor.projection.project import project
from purtensor.projection.relax import relax
from purtensor.projection.result import Projection
from purtensor.records.tabulate import tabulate
from purtensor.sampling import round_counts, sample, sample_without_replacement
from purtensor.solving.iterate import Solver
from purtensor.solving.solvers.gis import GIS
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.solvers.lbfgs import LBFGS
from purtensor.solving.solvers.newton import Newton
from purtensor.tables.regularize import regularize

_SOLVERS: tuple[Solver | None, ...] = (
    None,
    IPF(),
    IPF(relaxation=1.2),
    IPF(acceleration="anderson"),
    GIS(),
    LBFGS(),
    Newton(),
)


def _project(family: str, **sizes: int) -> None:
    """Project with every solver; how many rows a constraint has sets the type of the codes."""
    problem = generate(family, seed=1, **sizes)
    for solver in _SOLVERS:
        require_uninterrupted(
            project(problem.reference, problem.constraints, solver=solver, max_iterations=60, on_failure="return")
        )


def _diagnose(name: str) -> None:
    problem = load(name)
    diagnose(problem.reference, problem.constraints)
    require_uninterrupted(project(problem.reference, problem.constraints, on_failure="return"))


def _relax() -> None:
    problem = load("proxy")
    for penalty in ("kl", "l1", "quadratic"):
        relax(problem.reference, problem.constraints, soft=problem.constraints[:1], penalty=penalty)


def _solve() -> Projection:
    problem = load("b_lam0")
    return project(problem.reference, problem.constraints)


def _count() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.integers(0, size, 400) for name, size in (("y", 2), ("s", 3), ("x", 9))})
    counts = tabulate(frame)
    f = regularize(counts, response="y")
    result = project(f, pur(f, response="y", protected=["s"]))
    sample(result.table, 100, seed=1)
    sample_without_replacement(counts, 50, seed=1)
    round_counts(result.table, 1000, seed=1)
    round_counts(result.table, 1000, constraints=result.constraints[:2], seed=1)
    standard_errors(result, size=400)


def _transport() -> None:
    places = {"origin": range(72), "destination": range(64)}
    near = xr.DataArray(np.exp(-np.abs(np.subtract.outer(np.arange(72), np.arange(64))) / 30.0), coords=places)
    require_uninterrupted(project(near, marginals_of(near * 0.0 + 1.0 / near.size, [("origin",), ("destination",)])))


EXERCISES: Mapping[str, Callable[[], object]] = MappingProxyType(
    {
        "tables and samples": _count,
        "PUR": partial(_project, "pur", responses=2, protected=3, unprotected=20, records=2000),
        "PUR of many categories": partial(_project, "pur", responses=3, protected=4, unprotected=300, records=90_000),
        "all pairs": partial(_project, "binary", attributes=8),
        "a cube": partial(_project, "cube", categories=5),
        "transport": _transport,
        "records": partial(_project, "records", profiles=500, attributes=6, categories=20),
        "no solution": partial(_diagnose, "b_inf"),
        "implied zeros": partial(_diagnose, "haberman_boundary"),
        "a proxy": partial(_diagnose, "proxy"),
        "relaxation": _relax,
        "rates": lambda: convergence_rate(_solve()),
    }
)
"""By name, each a few milliseconds where its kernels are compiled."""
