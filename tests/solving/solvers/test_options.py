"""Options of solvers that cannot be are refused where the solver is made, with the option and what came."""

from __future__ import annotations

import math

import numpy as np
import pytest

import purtensor as pt
from purtensor._options import is_count

NO_COUNT = (-1, 1.5, 2.0, "3", True, math.nan, math.inf, (1,), np.float64(2.0))

BAD = {
    (pt.Newton, "warm_up"): (*NO_COUNT, None, 1001),
    (pt.LBFGS, "memory"): (*NO_COUNT, 0, None, 2**70),
    (pt.IPF, "acceleration"): (*NO_COUNT, 0, "Anderson", 2**70, np.array([1, 2])),
    (pt.IPF, "relaxation"): (0.0, 2.0, -1.0, math.nan, math.inf, "1", "Auto", None, (1.0,), 1j, True),
    (pt.IPF, "blocks"): (0, "all", (), ((),), (0, 1), ((0, "1"),), ((True,),), ((0.0,),), ((-1,),)),
    (pt.IPF, "order"): (
        0,
        "01",
        b"01",
        (0, "1"),
        (0.0, 1.0),
        (-1, 0),
        {0, 1},
        ((0,), (1,)),
        (True, False),
        1.5,
        np.array(1),
    ),
}

CASES = [(kind, option, value) for (kind, option), values in BAD.items() for value in values]


@pytest.mark.parametrize(
    ("kind", "option", "value"), CASES, ids=[f"{kind.__name__}-{option}-{value!r}" for kind, option, value in CASES]
)
def test_options__are_refused_by_name(kind, option, value):
    with pytest.raises(pt.InvalidOptionError) as caught:
        kind(**{option: value})
    assert str(caught.value).startswith(option)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_options__counts_of_any_integer_type(value):
    assert (
        pt.Newton(warm_up=value).warm_up
        == pt.LBFGS(memory=value).memory
        == pt.IPF(acceleration=value).acceleration
        == 3
    )
    assert is_count(value)


@pytest.mark.parametrize("order", [[2, 0, 1], (2, 0, 1), np.array([2, 0, 1]), range(3)])
def test_options__orders_of_any_sequence(order):
    problem = pt.problems.load("a")
    result = pt.project(problem.reference, problem.constraints, solver=pt.IPF(order=order))
    assert result.converged


@pytest.mark.parametrize("order", [[2, 0, 1], np.array([2, 0, 1]), range(3)[::-1]])
def test_options__orders_of_any_sequence_make_equal_solvers(order):
    same = pt.IPF(order=tuple(int(position) for position in order))
    assert pt.IPF(order=order) == same
    assert hash(pt.IPF(order=order)) == hash(same)


@pytest.mark.parametrize("order", [(0, 1), (0, 0, 1), (1, 2, 3), ()])
def test_options__orders_of_other_constraints_are_refused_where_they_are_used(order):
    problem = pt.problems.load("a")
    with pytest.raises(pt.InvalidOptionError, match=r"order must be a permutation of 0 \.\. 2"):
        pt.project(problem.reference, problem.constraints, solver=pt.IPF(order=order))
