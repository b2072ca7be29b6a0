"""Zeros that constraints imply."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import purtensor as pt
from purtensor.projection.verify import verify
from purtensor.verification.evidence import Block, Evidence
from purtensor.verification.exact_sums import Rows
from purtensor.verification.implied_zeros import find_emptied, imply_targets
from tests.strategies import table_from
from tests.verification.claimed import Claimed, potential_table

BITS = ([0, 1], [0, 1])
AND = [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1)]


def evidence(rows, targets):
    """All constraints over the same profiles, the reference uniform."""
    blocks = tuple(
        Block(np.array(row), np.array(target, dtype=float), np.zeros(len(target))) for row, target in zip(rows, targets)
    )
    count = len(rows[0])
    return Evidence(np.ones(count), np.ones(count), blocks, "")


STAIRS = [[0, 0, 1], [0, 1, 0]]


def emptied_of(rows, targets, empty):
    """What is known of the zeros of a table that is empty on some profiles, none of them by underflow."""
    whole = evidence(rows, targets)
    without = replace(whole, masses=np.where(empty, 0.0, 1.0))
    return find_emptied(without, np.zeros(len(empty), dtype=bool))


@pytest.mark.parametrize(
    ("empty", "proved"), [([True, False, False], 1), ([False, True, False], 0), ([True, False, True], 1)]
)
def test_find_emptied__of_the_staircase(empty, proved):
    found = emptied_of(STAIRS, [[1, 1], [1, 1]], np.array(empty))
    assert found.proved.sum() == proved
    assert found.open.sum() == sum(empty) - proved
    assert found.mass == 0
    assert found.is_full == (proved == sum(empty))


@pytest.mark.parametrize("factor", [1.0, 1 - 1e-9])
def test_find_emptied__does_not_take_small_for_zero(factor):
    """A target that misses the face by 1e-9 leaves the profile a mass of 1e-9."""
    found = emptied_of(STAIRS, [[2 - factor, factor], [1, 1]], np.array([True, False, False]))
    assert found.open.sum() == (factor != 1.0)


def test_find_emptied__tells_what_the_rounding_of_targets_leaves_a_profile():
    found = emptied_of(STAIRS, [[1 + 2.0**-50, 1 - 2.0**-50], [1, 1]], np.array([True, False, False]))
    assert found.proved.sum() == 1
    assert 2.0**-50 <= found.mass <= 2.0**-49
    assert not found.is_full


def test_imply_targets__says_of_all_rows_what_independent_ones_say():
    """The last constraint repeats the first and contradicts it in its last digit: the rows that are named are met."""
    given = [1, 1 - 2.0**-53, 1, 1, 1, 1]
    index, constraint = np.array([[0, 0, 1], [2, 3, 2], [4, 4, 5]]), np.array([0, 0, 1, 1, 2, 2])
    named = np.array([True, True, True, False, False, False])
    rows, others = (Rows(index, np.array(given, dtype=np.longdouble), constraint, own) for own in (named, ~named))
    assert imply_targets(rows) == [*given[:3], given[1], *given[:2]]
    assert imply_targets(others) == [given[4], given[5], given[3], given[3], given[4], given[5]]


def test_verify__proves_the_zeros_of_the_and_gate():
    # p = 1/4 on 000, 010, 100, 111 is the only table with its two-way marginals: it differs from any other with
    # the same ones by a multiple of (-1)^(a+b+c), which a zero at 110 and a zero at 001 forbid in both directions
    names = ("a", "b", "c")
    truth = table_from(names, (*BITS, [0, 1]), dict.fromkeys(AND, 0.25))
    reference = table_from(names, (*BITS, [0, 1]), dict.fromkeys(product([0, 1], repeat=3), 0.25))
    scopes = [("a", "b"), ("b", "c"), ("a", "c")]
    constraints = tuple(pt.Marginal(pt.marginal(truth, scope)) for scope in scopes)
    potentials = tuple(potential_table(scope, BITS, dict.fromkeys(product([0, 1], repeat=2), 0.0)) for scope in scopes)
    answer = Claimed(reference, truth, constraints, potentials)
    found = verify(answer, exact=True)
    assert found.support
    assert found.passed
    assert found.tv_bound <= 1e-50
    for profile in AND[:1]:
        wrong = truth.copy(deep=True)
        wrong.loc[dict(zip(names, profile))] = 0.0
        assert not verify(Claimed(reference, wrong, constraints, potentials)).support
