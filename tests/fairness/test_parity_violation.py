"""The parity violation against sums in fractions."""

from __future__ import annotations

import pytest
from hypothesis import given

import purtensor as pt
from purtensor.fairness.disparity import parity_violation
from tests import oracles
from tests.strategies import cases


@given(case=cases(least=2))
def test_parity_violation__is_the_l1_distance_from_independence(case):
    names = case.attributes
    y, s = names[:1], names[1 : max(2, len(names) - 1)]
    p = oracles.normalised(case.reference_masses)
    pairs, of_y, of_s = (oracles.marginal(p, names, scope) for scope in (y + s, y, s))
    exact = sum(abs(pairs.get(a + b, 0) - of_y[a] * of_s[b]) for a in of_y for b in of_s)
    found = parity_violation(case.reference, response=y[0], protected=list(s))
    assert found == pytest.approx(float(exact), abs=1e-14)
    assert found == pytest.approx(parity_violation(case.reference * 3, response=y[0], protected=list(s)), abs=1e-14)


def test_parity_violation__of_parity_is_none_and_of_full_dependence_most():
    f = pt.tabulate({"y": [0, 1], "s": [0, 1], "x": [0, 0]})
    assert parity_violation(f, response="y", protected="s") == 1.0
    even = pt.tabulate({"y": [0, 1, 0, 1], "s": [0, 0, 1, 1]})
    assert parity_violation(even, response="y", protected="s") == 0.0


def test_parity_violation__refuses_roles():
    f = pt.tabulate({"y": [0, 1], "s": [0, 1]})
    with pytest.raises(pt.UnknownAttributeError):
        parity_violation(f, response="y", protected="t")
    with pytest.raises(pt.InvalidOptionError):
        parity_violation(f, response="y", protected="y")
