"""Many PUR tables at once against one by one, the certificate against longer sweeps."""

from __future__ import annotations

import math

import numpy as np
import pytest

import purtensor as pt
from purtensor.errors import InvalidOptionError
from purtensor.kernels.newton.pur_solve import CONVERGED, FACTS, Rule, solve_pur_table
from purtensor.solving.pur_tables import CONDITIONS, Union, _layout, _room, solve_tables
from purtensor.solving.termination import Termination
from purtensor.solving.threads import VARIABLE
from tests.kernels.drawn import plain

GROUPS, SLABS, RESPONSES = 4, 7, 3


def drawn(seed=1, tables=5, strength=1e-3, records=600):
    """A union, and regularized tables of random records, each with its own support."""
    rng = np.random.default_rng(seed)
    pairs = sorted(rng.choice(GROUPS * SLABS, 24, replace=False).tolist())
    pairs = sorted({*pairs, *(x * GROUPS for x in range(SLABS)), *range(GROUPS)})
    s, x = np.array(pairs) % GROUPS, np.array(pairs) // GROUPS
    of_pairs = rng.dirichlet(np.full(len(s), 1.0))[:, None] * rng.dirichlet(np.full(RESPONSES, 8.0), len(s))
    p = of_pairs.reshape(-1)
    counts = rng.multinomial(records, p, size=tables).reshape(tables, len(s), RESPONSES).astype(float)
    supported = (counts.sum(axis=2, keepdims=True) > 0) & (counts.sum(axis=1, keepdims=True) > 0)
    return Union.of(s, x, RESPONSES), np.where(supported, counts + strength, 0.0) / records


def table_of(union, masses):
    """A matrix of profiles and responses as a labelled table."""
    r, y = np.nonzero(masses)
    records = {"y": y, "s": union.protected[r], "x": union.unprotected[r]}
    return pt.tabulate(records, weights=masses[r, y].tolist())


def one_by_one(union, masses, data=None, conditions="PUR"):
    """The projection by labels, back as a matrix."""
    data = masses if data is None else data
    constraints = pt.pur(table_of(union, data), response="y", protected="s", conditions=conditions)
    result = pt.project(table_of(union, masses), constraints, solver=pt.Newton(), tolerance=1e-13)
    place = {(s, x): r for r, (s, x) in enumerate(zip(union.protected.tolist(), union.unprotected.tolist()))}
    found = np.zeros_like(masses)
    for (y, s, x), mass in result.table.to_series().items():
        found[place[s, x], y] = mass
    return found


@pytest.mark.parametrize("conditions", CONDITIONS)
@pytest.mark.parametrize("strength", [1.0, 1e-2, 1e-4])
def test_solve_tables__are_the_projections_one_by_one(strength, conditions):
    union, tables = drawn(strength=strength)
    solved = solve_tables(union, tables, conditions=conditions)
    assert solved.converged.all()
    for masses, found, bound in zip(tables, solved.masses, solved.tv_bound):
        exact = one_by_one(union, masses, conditions=conditions)
        assert np.abs(found - exact).sum() / 2 <= (bound + 1e-12) * exact.sum()
        assert np.abs(found - masses).sum() > 1e-3
    assert solved.tv_bound.max() <= 1e-10
    assert solved.residual.max() <= 1e-10


def test_solve_tables__targets_from_other_data():
    union, tables = drawn()
    references = np.where(tables > 0, np.random.default_rng(2).uniform(0.5, 2.0, tables.shape), 0.0)
    solved = solve_tables(union, references, tables)
    assert solved.converged.all()
    for n in range(len(tables)):
        exact = one_by_one(union, references[n], tables[n])
        assert solved.masses[n] == pytest.approx(exact, rel=1e-6, abs=1e-10)
        assert solved.masses[n].sum() == pytest.approx(tables[n].sum(), rel=1e-12)


def test_solve_tables__parity_alone_has_a_closed_form():
    union, tables = drawn()
    solved = solve_tables(union, tables, conditions="P")
    of_s = np.zeros((len(tables), union.groups, RESPONSES))
    np.add.at(of_s, (slice(None), union.protected), tables)
    target = of_s.sum(axis=2, keepdims=True) * of_s.sum(axis=1, keepdims=True) / of_s.sum(axis=(1, 2), keepdims=True)
    exact = tables * (target / of_s)[:, union.protected]
    assert solved.masses == pytest.approx(exact, rel=1e-13)
    assert solved.steps.tolist() == [0] * len(tables)
    assert solved.tv_bound.max() < 1e-14


@pytest.mark.parametrize("conditions", CONDITIONS)
def test_solve_tables__masses_are_the_reference_times_exp_of_the_potentials(conditions):
    union, tables = drawn()
    solved = solve_tables(union, tables, conditions=conditions)
    rows, t = len(union.protected), solved.potentials
    of_x = t[:, rows : rows + union.slabs * RESPONSES].reshape(len(t), union.slabs, RESPONSES)
    of_s = t[:, rows + union.slabs * RESPONSES :].reshape(len(t), union.groups, RESPONSES)
    exponent = t[:, :rows, None] + of_x[:, union.unprotected] + of_s[:, union.protected]
    assert solved.masses == pytest.approx(tables * np.exp(exponent), rel=1e-13)
    assert bool(t[:, :rows].any()) == ("R" in conditions)
    assert bool(of_x.any()) == ("U" in conditions)


def test_solve_tables__scale_of_a_table_changes_nothing():
    union, tables = drawn()
    one, other = solve_tables(union, tables), solve_tables(union, 1024.0 * tables)
    assert np.array_equal(other.steps, one.steps)
    assert other.masses == pytest.approx(1024.0 * one.masses, rel=1e-12)
    assert other.tv_bound == pytest.approx(one.tv_bound, rel=1e-6, abs=1e-15)


def test_solve_tables__a_response_that_a_table_lacks():
    union, tables = drawn()
    tables[0, :, 0] = 0.0
    solved = solve_tables(union, tables[:1])
    assert solved.converged.all()
    assert solved.masses[0] == pytest.approx(one_by_one(union, tables[0]), rel=1e-6, abs=1e-10)
    assert not solved.masses[0, :, 0].any()


def test_solve_tables__a_profile_that_lacks_a_response_is_for_others():
    union, tables = drawn()
    tables[1, np.flatnonzero(tables[1, :, 0])[0], 1] = 0.0
    solved = solve_tables(union, tables)
    assert solved.endings[1] is None
    assert np.isnan(solved.masses[1]).all()
    assert solved.converged.tolist() == [True, False, True, True, True]
    assert (solved.bound[1], solved.tv_bound[1]) == (math.inf, 1.0)


@pytest.mark.parametrize("conditions", ["PU", "PUR"])
def test_solve_tables__without_a_solution_nothing_is_proved(conditions):
    # s tells x: parity cannot hold beside utility
    union = Union.of(np.array([0, 1]), np.array([0, 1]), 2)
    solved = solve_tables(union, np.array([[[0.4, 0.1], [0.1, 0.4]]]), conditions=conditions, most=30)
    assert solved.endings[0] in (Termination.ITERATION_LIMIT, Termination.STALLED, Termination.NOT_FINITE)
    assert solved.tv_bound.tolist() == [1.0]


def test_solve_tables__bits_do_not_depend_on_threads_or_on_the_other_tables(monkeypatch):
    union, tables = drawn(tables=30)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv(VARIABLE, threads)
        found.append(solve_tables(union, tables))
    one, three = found
    assert np.array_equal(one.masses, three.masses)
    assert np.array_equal(one.potentials, three.potentials)
    assert np.array_equal(one.tv_bound, three.tv_bound)
    assert np.array_equal(solve_tables(union, tables[17:18]).masses[0], one.masses[17])


@pytest.mark.parametrize("conditions", CONDITIONS)
def test_solve_pur_table__as_plain_python_is_the_same(conditions):
    union, tables = drawn(tables=1)
    masses, potentials, facts = np.empty(tables[0].shape), np.empty(union.rows), np.empty(FACTS)
    rule = Rule(3, 50, 1e-10, "U" in conditions, "R" in conditions)
    arguments = tables[0], tables[0], _layout(union), rule, _room(union), masses, potentials, facts
    assert plain(solve_pur_table)(*arguments) == CONVERGED
    assert masses == pytest.approx(solve_tables(union, tables, conditions=conditions).masses[0], rel=1e-12)


def test_solve_tables__refuses_other_conditions():
    union, tables = drawn()
    with pytest.raises(InvalidOptionError, match="conditions are one of P, PU, PUR, these are 'PR'"):
        solve_tables(union, tables, conditions="PR")


@pytest.mark.parametrize("wrong", [np.ones((2, 3)), np.ones((1, 2, 2)), np.ones((2, 3, 4))])
def test_solve_tables__refuses_other_shapes(wrong):
    union, _ = drawn()
    with pytest.raises(InvalidOptionError, match="shape"):
        solve_tables(union, wrong)


@pytest.mark.parametrize(("s", "x"), [([0, 1], [1, 0]), ([0, 0], [0, 0]), ([0, 1, 2], [0, 0])])
def test_union__refuses_profiles_out_of_order(s, x):
    with pytest.raises(InvalidOptionError, match="unprotected number"):
        Union.of(np.array(s), np.array(x), 2)
