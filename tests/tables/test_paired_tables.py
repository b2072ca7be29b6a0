"""Two tables as shares on the same profiles."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from purtensor.errors import UnknownAttributeError
from purtensor.tables.coded import encode
from purtensor.tables.domain import Domain
from purtensor.tables.paired_tables import Total, require_same_attributes, share_profiles
from tests.strategies import table_from


def coded(masses, categories=("a", "b", "c")):
    return encode(table_from(("x",), (list(categories),), {(label,): mass for label, mass in masses.items()}))


def test_share_profiles__puts_those_of_the_first_table_first_in_its_order():
    shared = share_profiles(coded({"c": 1.0, "a": 2.0}), coded({"a": 5.0, "b": 7.0}, ("b", "a", "c")))
    assert shared.p.tolist() == [1, 2, 0]
    assert shared.q.tolist() == [0, 5, 7]


def test_difference__is_right_to_the_last_digits_under_cancellation():
    rng = np.random.default_rng(5)
    p = rng.uniform(1, 2, 3)
    q = p * 3 * (1 + 1e-13 * rng.uniform(-1, 1, 3))
    shared = share_profiles(coded(dict(zip("abc", p))), coded(dict(zip("abc", q))))
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
