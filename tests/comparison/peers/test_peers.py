"""Peers x problems: whoever meets the targets has found our answer, and nobody is asked more than it can do."""

from __future__ import annotations

import dataclasses
import math
import warnings
from functools import cache

import numpy as np
import pytest
import scipy

import purtensor as pt
from purtensor.comparison.outcome import divergence_to
from purtensor.comparison.peers import PEERS
from purtensor.comparison.peers.peer import driven
from purtensor.comparison.plain import NotApplicableError, PlainProblem
from purtensor.comparison.questions import questions
from purtensor.comparison.rule import Ending, Rule

RULE = Rule(1e-10, 10_000, 20.0)
BY_VALUES = ("scipy-lbfgs", "trust-exact")
"""They compare values of the dual, which do not tell the last digits of the targets apart."""

OF_TRANSPORT = ("pot", "pot-stabilized", "pot-greenkhorn", "ott-jax")

SMALL = "pur(responses=2, protected=3, unprotected=4, records=200)"

EXPECTED_KL = {"clarabel": 1e-6}
"""Clarabel meets the targets, but its objective is only as good as its gap."""


@cache
def two_way(name: str) -> PlainProblem:
    """Return the problem in plain arrays; `matrix` is a 4 x 5 table with both marginals, two cells of it zero."""
    if name != "matrix":
        return questions(name, 10.0)[0].plain
    rng = np.random.default_rng(5)
    codes = np.indices((4, 5)).reshape(2, -1)
    weights = rng.gamma(1.0, 1.0, 20)
    weights[[3, 11]] = 0.0
    table = pt.to_dense(pt.tabulate({"row": codes[0], "column": codes[1]}, weights=weights))
    goal = table * rng.gamma(1.0, 1.0, table.shape)
    return questions((table, pt.marginals_of(goal, ["row", "column"])), 10.0)[0].plain


@pytest.mark.parametrize("name", ["matrix", "haberman", SMALL])
@pytest.mark.parametrize("peer", PEERS)
def test_peers__find_the_projection(peer: str, name: str) -> None:
    if PEERS[peer].missing():
        pytest.skip(f"needs {PEERS[peer].missing()}")
    if peer == "trust-exact" and tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17):
        pytest.skip("before scipy 1.17 its search within a region may never end; compare ends it from outside")
    problem = two_way(name)
    if peer in OF_TRANSPORT and name != "matrix":
        with pytest.raises(NotApplicableError, match="two one-way marginals"):
            PEERS[peer].prepare(problem, RULE)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they have much to say
        attempt = PEERS[peer].prepare(problem, RULE)()
    assert attempt.masses is not None
    assert problem.misses(problem.masses)[0] > 1e-3  # the reference is no answer
    assert problem.misses(attempt.masses)[0] < (1e-7 if peer in BY_VALUES else 1e-10)
    assert divergence_to(problem, attempt.masses) < EXPECTED_KL.get(peer, 1e-12)
    assert attempt.iterations is not None
    assert attempt.iterations > 0


@pytest.mark.parametrize("peer", ["ipfn", "humanleague", "loglin", "mbi"])
def test_peers__dense_ones_refuse_a_huge_domain(peer: str) -> None:
    if PEERS[peer].missing():
        pytest.skip(f"needs {PEERS[peer].missing()}")
    with pytest.raises(NotApplicableError, match="cells of the domain"):
        PEERS[peer].prepare(two_way("i4"), RULE)


def test_peers__trust_exact_refuses_a_hessian_beyond_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_way("haberman")
    rows = len(problem.targets)
    monkeypatch.setattr("purtensor.comparison.peers.scipy_dual._MOST_ROWS", rows - 1)
    with pytest.raises(NotApplicableError, match=f"dense Hessian of {rows} x {rows} numbers"):
        PEERS["trust-exact"].prepare(problem, RULE)


def test_peers__loglin_needs_a_table_with_the_targets() -> None:
    problem = dataclasses.replace(two_way("haberman"), solution=None)
    with pytest.raises(NotApplicableError, match="from a table that has them"):
        PEERS["loglin"].prepare(problem, RULE)


def test_driven__our_rule_stops_it() -> None:
    problem = two_way("haberman")
    assert problem.solution is not None
    answer = problem.dense(problem.solution)

    def halfway(table: np.ndarray, sweeps: int) -> np.ndarray:
        return answer + (table - answer) * 0.5**sweeps

    start = problem.dense(problem.masses)
    done = driven(problem, RULE, start, halfway)
    first = problem.misses(problem.masses)[0]
    needed = math.ceil(math.log2(first / 1e-10))
    assert done.limit is None
    assert needed <= done.iterations <= 1.1 * needed + 1
    assert [line.iteration for line in done.lines][:4] == [0, 1, 2, 3]
    limited = driven(problem, Rule(1e-10, 7, 20.0), start, halfway)
    assert (limited.iterations, limited.limit) == (7, Ending.ITERATION_LIMIT)
    assert driven(problem, Rule(1e-10, 7, 1e-9), start, halfway).limit is Ending.TIME_LIMIT
    assert driven(problem, RULE, start, lambda table, sweeps: table * np.nan).limit is Ending.NOT_FINITE
