"""What is called with hostile tables: each public function that takes one, with all else in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import purtensor as pt

ROLES = {"response": "y", "protected": "s"}


def plain(**changes: Any) -> xr.DataArray:
    """A table of counts over y, s, x in the dense layout, every profile positive."""
    values = np.array([[[4.0, 3.0, 2.0], [2.0, 5.0, 1.0]], [[1.0, 2.0, 6.0], [3.0, 1.0, 2.0]]])
    labels = {"y": ["no", "yes"], "s": ["f", "m"], "x": ["a", "b", "c"]} | changes
    return xr.DataArray(values, coords=labels, dims=list(labels))


PUR = pt.pur(plain(), **ROLES)


OF_A_TABLE: dict[str, Callable[[Any], Any]] = {
    "empirical": pt.empirical,
    "uniform": pt.uniform,
    "regularize": lambda table: pt.regularize(table, response="y"),
    "regularize(support=)": lambda table: pt.regularize(plain(), response="y", support=table),
    "marginal": lambda table: pt.marginal(table, ["y", "s"]),
    "Marginal": lambda table: pt.Marginal(table).coded.values,
    "marginals_of": lambda table: pt.marginals_of(table, [("y", "s"), ("x",)])[0].target,
    "parity": lambda table: pt.parity(table, **ROLES).target,
    "utility": lambda table: pt.utility(table, **ROLES).target,
    "realism": lambda table: pt.realism(table, **ROLES).target,
    "pur": lambda table: pt.pur(table, **ROLES)[2].target,
    "coefficients": lambda table: pt.coefficients(table, PUR).rank,
    "degrees_of_freedom": lambda table: pt.degrees_of_freedom(table, PUR),
    "diagnose": lambda table: pt.diagnose(table, PUR).verdict.value,
    "project": lambda table: pt.project(table, PUR).table,
    "project(target)": lambda table: pt.project(plain(), pt.Marginal(table)).table,
    "closed_form": lambda table: pt.results.closed_form(pt.uniform(table), pt.marginals_of(plain(), "y s | x")),
    "relax": lambda table: pt.relax(table, PUR, soft=0).table,
    "kl_divergence": lambda table: pt.kl_divergence(table, plain() + 1),
    "kl_divergence(q)": lambda table: pt.kl_divergence(plain() + 1, table),
    "entropy": pt.entropy,
    "total_variation": lambda table: pt.total_variation(plain() + 1, table),
    "predict": lambda table: pt.predict(table, pt.marginal(plain(), ["s", "x"]), response="y"),
    "predict(test)": lambda table: pt.predict(plain(), table, response="y"),
    "attributable_disparity": lambda table: pt.attributable_disparity(table, **ROLES, reference={"s": "m"}),
    "disparity_ratio": lambda table: pt.disparity_ratio(table, **ROLES, reference={"s": "m"}),
    "utility_error": lambda table: pt.utility_error(table, plain() + 1, **ROLES),
    "utility_error(predicted)": lambda table: pt.utility_error(plain() + 1, table, **ROLES),
    "sample": lambda table: pt.sample(table, 20, seed=1),
    "sample_without_replacement": lambda table: pt.sample_without_replacement(table, 7, seed=1),
    "round_counts": lambda table: pt.round_counts(table, 50),
    "to_records": lambda table: len(pt.to_records(table)),
}
"""Functions of a table; those that take two get a good one beside it."""

LAYOUTS_ONLY: dict[str, Callable[[Any], Any]] = {"to_dense": pt.to_dense, "to_sparse": pt.to_sparse}
"""These change the layout and judge no masses."""


def sparse(profiles: list[tuple[Any, ...]], values: Any, names: list[Any]) -> xr.DataArray:
    """A sparse table, built without purtensor, that may be as wrong as one likes."""
    index = pd.MultiIndex.from_tuples(profiles, names=names)
    return xr.DataArray(values, coords=xr.Coordinates.from_pandas_multiindex(index, "profile"), dims="profile")
