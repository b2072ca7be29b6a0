"""Exact solutions next to floats: they meet every target, however many profiles are put in order apart."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import purtensor as pt
from purtensor.constraints.system import align
from purtensor.feasibility import exact_solution as points
from purtensor.feasibility.exact_solution import exact_point
from purtensor.feasibility.targets import read_targets
from purtensor.tables.coded import encode


@pytest.mark.parametrize("many", [points.MANY, 0])
def test_exact_point__meets_every_target(many, monkeypatch):
    monkeypatch.setattr(points, "MANY", many)
    rng = np.random.default_rng(5)
    table = pt.tabulate({name: rng.integers(0, 3, 500) for name in "abc"}).astype(np.float64)
    solution = pt.project(pt.uniform(table), pt.marginals_of(table, [("a", "b"), ("b", "c")])).table
    system = align(encode(table), pt.marginals_of(table, [("a", "b"), ("b", "c")]))
    targets = read_targets(system)
    point = exact_point(system, targets, encode(solution).values)
    masses = [Fraction(mass) for mass in point.masses()]
    assert min(masses) > 0
    for k in range(len(system.scopes)):
        sums = [Fraction(0)] * len(system.row_codes[k][0])
        for row, mass in zip(system.index[k].tolist(), masses, strict=True):
            sums[row] += mass
        wanted = [Fraction(int(n), int(targets.denominator)) for n in targets.numerators[system.block(k)]]
        assert [s / point.denominator for s in sums] == wanted
