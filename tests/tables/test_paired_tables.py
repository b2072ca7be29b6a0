"""Two tables as shares on the same profiles."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from purtensor.errors import UnknownAttributeError
from purtensor.tables.domain import Domain
from purtensor.tables.paired_tables import SharedProfiles, Total, require_same_attributes
from purtensor.tables.store.pairs import Read, match_tables
from tests.strategies import table_from


def test_match_tables__puts_groups_in_category_order_of_the_first_table():
    p = table_from(("x",), (["a", "b", "c"],), {("c",): 1.0, ("a",): 2.0})
    q = table_from(("x",), (["b", "a", "c"],), {("a",): 5.0, ("b",): 7.0})
    [(codes, (of_p, of_q))] = match_tables([Read(p), Read(q)], ("p", "q"))
    assert [code.tolist() for code in codes] == [[0, 1, 2]]
    assert of_p.tolist() == [2, 0, 1]
    assert of_q.tolist() == [5, 7, 0]


def test_difference__is_right_to_the_last_digits_under_cancellation():
    rng = np.random.default_rng(5)
    p = rng.uniform(1, 2, 3)
    q = p * 3 * (1 + 1e-13 * rng.uniform(-1, 1, 3))
    shared = SharedProfiles(p, q, Total.of(p), Total.of(q))
    exact_p, exact_q = [Fraction(v) for v in p], [Fraction(v) for v in q]
    expected = [float(a / sum(exact_p) - b / sum(exact_q)) for a, b in zip(exact_p, exact_q)]
    assert max(map(abs, expected)) < 1e-12
    assert shared.difference() == pytest.approx(expected, rel=1e-15 * 4, abs=0)
    relative = [float(a * sum(exact_q) / (b * sum(exact_p)) - 1) for a, b in zip(exact_p, exact_q)]
    assert shared.relative_difference() == pytest.approx(relative, rel=1e-15 * 4, abs=0)


def test_total__carries_what_its_rounding_lost():
    values = np.array([1.0, 2.0**-60, 1.0, 2.0**-70])
    total = Total.of(values)
    assert Fraction(total.high) + Fraction(total.low) == sum(map(Fraction, values)) / Fraction(2) ** total.exponent


def test_require_same_attributes__names_the_table_that_lacks_one() -> None:
    domains = [Domain(tuple(names), (pd.Index([0]),) * len(names)) for names in ("ab", "ba", "b")]
    require_same_attributes(domains[:2], ("p", "q"))
    with pytest.raises(UnknownAttributeError, match="no attribute 'a'; r has b"):
        require_same_attributes(domains, ("p", "q", "r"))
    with pytest.raises(UnknownAttributeError, match="no attribute 'a'; p has b"):
        require_same_attributes(domains[::-1][:2], ("p", "q"))
