"""Zeros that constraints imply."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import purtensor as pt
from purtensor.projection.verify import verify
from purtensor.verification.evidence import Block, Evidence
from purtensor.verification.implied_zeros import unproved_zeros
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


def test_unproved_zeros__of_the_staircase():
    stairs = evidence([[0, 0, 1], [0, 1, 0]], [[1, 1], [1, 1]])
    assert unproved_zeros(stairs, np.array([True, False, False])) == 0
    assert unproved_zeros(stairs, np.array([False, True, False])) == 1
    assert unproved_zeros(stairs, np.array([True, False, True])) == 1


@pytest.mark.parametrize("factor", [1.0, 1 - 1e-9])
def test_unproved_zeros__does_not_take_small_for_zero(factor):
    """A target that misses the face by 1e-9 leaves the profile a mass of 1e-9."""
    stairs = evidence([[0, 0, 1], [0, 1, 0]], [[2 - factor, factor], [1, 1]])
    assert unproved_zeros(stairs, np.array([True, False, False])) == (factor != 1.0)


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
