"""Every form of C diag(p) C^T takes a ridge on rows that need not be met, wherever in the arrow they lie."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from random import Random

import numpy as np
import pytest

import purtensor as pt
from purtensor.constraints.rank.independence import independent_rows
from purtensor.solving.hessian.arrowhead import build_arrowhead
from purtensor.solving.hessian.bipartite import build_bipartite
from purtensor.solving.hessian.choice import form_on
from purtensor.solving.hessian.conjugate import Conjugate
from purtensor.solving.hessian.dense import build_dense
from purtensor.solving.problem import Problem, build_problem
from tests.constraints.exact import dense_matrix
from tests.strategies import random_case

SOFT = [chosen for size in (1, 2, 3) for chosen in combinations("PUR", size)]


@dataclass
class SoftRows:
    """A problem, the first constraints of which are hard; all rows of the others carry a ridge."""

    problem: Problem
    hard: int

    @property
    def rows(self):
        offsets = self.problem.system.offsets
        return np.arange(offsets[self.hard], offsets[-1])


def soft_rows(reference, hard, soft):
    return SoftRows(build_problem(reference, [*hard, *soft]).arrays, len(hard))


def pur_problem(soft):
    named = pt.problems.generate("pur", seed=3, responses=3, protected=4, unprotected=9, records=2000)
    by_letter = dict(zip("PUR", pt.pur(named.reference, response="y", protected="s"), strict=True))
    hard = [by_letter[letter] for letter in "PUR" if letter not in soft]
    return soft_rows(named.reference, hard, [by_letter[letter] for letter in soft])


def kept_rows(soft):
    """All rows but the hard ones that follow from other hard ones, judged slab by slab where there are slabs."""
    system, slabs = soft.problem.system, soft.problem.slabs
    kept = np.ones(system.rows, dtype=bool)
    if soft.hard:
        rows = int(system.offsets[soft.hard])
        hard = replace(
            system,
            index=np.ascontiguousarray(system.index[: soft.hard]),
            offsets=system.offsets[: soft.hard + 1],
            targets=system.targets[:rows],
            scopes=system.scopes[: soft.hard],
            row_codes=system.row_codes[: soft.hard],
        )
        key = None if slabs is None or not any(set(slabs.key) <= set(own) for own in hard.scopes) else slabs.key
        kept[:rows] = independent_rows(hard, key).mask(rows)
    return kept


def check(soft, form, accuracy):
    """Dependent hard rows leave the solution free: what is compared is the right-hand side that it belongs to."""
    rng = np.random.default_rng(0)
    problem = soft.problem
    masses = problem.reference * rng.uniform(0.1, 2.0, len(problem.reference))
    ridge = np.zeros(problem.system.rows)
    ridge[soft.rows] = rng.uniform(0.01, 3.0, len(soft.rows))
    c = dense_matrix(problem.system)
    whole = (c * masses) @ c.T + np.diag(ridge)
    first, second = (whole @ rng.normal(size=problem.system.rows) for _ in range(2))
    found, factored = form.factor_and_solve(masses, first, ridge)
    assert whole @ found == pytest.approx(first, abs=accuracy)
    assert whole @ factored.solve(second) == pytest.approx(second, abs=accuracy)
    assert np.abs(whole @ form.factor_and_solve(masses, first)[0] - first).max() > 1e-3


@pytest.mark.parametrize("soft", SOFT, ids="".join)
def test_arrowhead__with_a_ridge_on_coupling_local_and_primary_rows(soft):
    problem = pur_problem(soft)
    kept = kept_rows(problem)
    check(problem, build_arrowhead(problem.problem.system, problem.problem.slabs, kept), 1e-9)


def test_bipartite__with_a_ridge_on_coupling_rows():
    problem = pur_problem("P")
    kept = kept_rows(problem)
    check(problem, build_bipartite(problem.problem.system, problem.problem.slabs, kept), 1e-9)


@pytest.mark.parametrize("soft", SOFT, ids="".join)
def test_dense__with_a_ridge(soft):
    problem = pur_problem(soft)
    kept = kept_rows(problem)
    check(problem, build_dense(problem.problem.system, np.flatnonzero(kept)), 1e-9)


@pytest.mark.parametrize("soft", SOFT, ids="".join)
def test_conjugate__with_a_ridge(soft):
    problem = pur_problem(soft)
    kept = kept_rows(problem)
    form = Conjugate(problem.problem.system, "", np.flatnonzero(~kept), relative=1e-12)
    check(problem, form, 1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_chosen_form__of_any_constraints(seed):
    random = Random(seed)
    case = random_case(random, count=random.randint(2, 5), kind=random.choice(("sparse", "full", "disconnected")))
    constraints = list(case.constraints)
    random.shuffle(constraints)
    count = random.randint(0, len(constraints) - 1)
    soft = soft_rows(case.reference, constraints[:count], constraints[count:])
    check(soft, form_on(soft.problem.system, soft.problem.slabs, kept_rows(soft)), 1e-8)
