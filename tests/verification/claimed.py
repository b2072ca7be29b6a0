"""Results made without the package's solvers: what they claim is known, and can be spoilt."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import purtensor as pt
from purtensor.verification.bounds import prove
from purtensor.verification.implied_zeros import find_emptied
from tests import oracles
from tests.strategies import Case, table_from


class Ending(Enum):
    CONVERGED = "every constraint is met to the tolerance"
    LIMIT = "the iteration limit came first"


@dataclass(frozen=True)
class Claimed:
    """Has the fields of a Projection that verification reads."""

    reference: xr.DataArray
    table: xr.DataArray
    constraints: tuple[Any, ...]
    potentials: tuple[xr.DataArray, ...]
    termination: Ending = Ending.CONVERGED
    certified: bool = False
    residual: float = 1.0
    residual_l1: float = 2.0
    bound: float = math.inf
    tv_bound: float = 1.0
    claimed_divergence: float | None = None
    reference_in: str = "mass"

    @property
    def divergence(self) -> float:
        if self.claimed_divergence is not None:
            return self.claimed_divergence
        p, q = exact_shares(self.table), exact_shares(self.reference)
        return sum(float(mass) * math.log(mass / q[profile]) for profile, mass in p.items() if mass and q.get(profile))

    @property
    def converged(self) -> bool:
        return self.termination is Ending.CONVERGED


def potential_table(attributes, categories, values):
    """A sparse table of potentials, which may be negative."""
    codes = [[labels.index(row[i]) for row in values] for i, labels in enumerate(categories)]
    index = pd.MultiIndex(levels=[pd.Index(labels) for labels in categories], codes=codes, names=attributes)
    coords = xr.Coordinates.from_pandas_multiindex(index, "profile")
    return xr.DataArray(list(values.values()), coords=coords, dims="profile")


def after_sweeps(case: Case, sweeps: int, **fields) -> Claimed:
    """The state of IPF after so many sweeps."""
    constraints = list(zip(case.scopes, case.targets, strict=True))
    potentials, masses = oracles.ipf_potentials(case.reference_masses, case.attributes, constraints, sweeps)
    tables = []
    for scope, values in zip(case.scopes, potentials, strict=True):
        categories = tuple(case.categories[case.attributes.index(name)] for name in scope)
        tables.append(potential_table(scope, categories, values))
    return Claimed(case.reference, case.table(masses), case.constraints, tuple(tables), **fields)


def staircase(table, *, potential=0.0) -> Claimed:
    """Cells (r1, c1), (r1, c2), (r2, c1) with both marginals (1, 1): only the other diagonal meets them."""
    rows, columns = ["r1", "r2"], ["c1", "c2"]
    reference = {("r1", "c1"): 1, ("r1", "c2"): 1, ("r2", "c1"): 1}
    ones = [
        pt.Marginal(table_from((name,), (labels,), {(label,): 1 for label in labels}))
        for name, labels in (("row", rows), ("column", columns))
    ]
    return Claimed(
        table_from(("row", "column"), (rows, columns), reference),
        table_from(("row", "column"), (rows, columns), table),
        tuple(ones),
        (
            potential_table(("row",), (rows,), {("r1",): potential, ("r2",): 0.0}),
            potential_table(("column",), (columns,), {("c1",): 0.0, ("c2",): -potential}),
        ),
    )


def with_mass(claimed: Claimed, at: int, factor: float) -> Claimed:
    """The same claims about a table with one wrong mass."""
    table = claimed.table.copy(deep=True)
    flat = table.values.reshape(-1)
    flat[[i for i, value in enumerate(flat) if value][at]] *= factor
    return replace(claimed, table=table)


def exact_shares(table):
    return oracles.normalised({k: Fraction(v) for k, v in oracles.masses_of(table).items()})


def prove_of(evidence):
    """What is proved of evidence in which no mass has underflowed."""
    return prove(evidence, find_emptied(evidence, np.zeros(len(evidence.masses), dtype=bool)))
