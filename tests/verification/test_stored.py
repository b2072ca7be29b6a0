"""Misses summed piece by piece, against the same sums in memory."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.tables.coded import encode
from purtensor.verification import stored
from purtensor.verification.stored import Source, misses


def drawn(seed, rows=300):
    rng = np.random.default_rng(seed)
    records = {"a": rng.integers(0, 5, rows), "b": rng.integers(0, 7, rows), "c": rng.integers(0, 30, rows)}
    return pt.tabulate(records, weights=rng.random(rows))


def in_pieces(table, size):
    coded = encode(table)
    starts = range(0, len(coded.values), size)
    return Source(
        coded.domain,
        lambda: [([c[i : i + size] for c in coded.codes], coded.values[i : i + size]) for i in starts],
    )


@pytest.mark.parametrize("scope", [("a",), ("c", "a"), ("b", "a", "c")])
@pytest.mark.parametrize("at_once", [1 << 20, 40])
def test_misses__are_those_of_the_marginals(scope, at_once, monkeypatch):
    monkeypatch.setattr(stored, "ROWS_AT_ONCE", at_once)
    table, target = drawn(1), drawn(2)
    one, other = (pt.marginal(t, scope).to_series().to_dict() for t in (table, target))
    gaps = np.array([abs(one.get(row, 0.0) - other.get(row, 0.0)) for row in one.keys() | other.keys()])
    gaps /= sum(other.values())
    largest, l1 = misses(in_pieces(table, 17), in_pieces(target, 23), scope)
    assert largest == pytest.approx(gaps.max(), rel=1e-12)
    assert l1 == pytest.approx(gaps.sum(), rel=1e-12)
    assert misses(in_pieces(table, 17), Source.of(table), scope)[1] < 1e-15


def test_misses__match_by_label():
    table = pt.tabulate({"a": ["x", "y"]}, weights=[1.0, 3.0])
    target = pt.tabulate({"a": ["z", "y"]}, weights=[1.0, 3.0])
    assert misses(Source.of(table), Source.of(target), ("a",)) == (0.25, 0.5)
    swapped = pt.tabulate({"a": ["y", "x"]}, weights=[3.0, 1.0])
    assert misses(Source.of(table), Source.of(swapped), ("a",)) == (0.0, 0.0)
