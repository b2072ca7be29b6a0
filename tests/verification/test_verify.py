"""The second opinion on results: what is right passes, what is spoilt does not, and bounds hold."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import purtensor as pt
from purtensor.projection.verify import verify
from purtensor.verification.bounds import prove
from purtensor.verification.evidence import gather
from purtensor.verification.implied_zeros import find_emptied
from tests import oracles
from tests.strategies import Case, cases, table_from
from tests.verification.claimed import Claimed, Ending, after_sweeps, exact_shares, staircase, with_mass

SMALL = cases(least=1, most=4, spread=2, kinds=("sparse", "full", "disconnected"))


@given(SMALL)
def test_verify__confirms_a_converged_result(case):
    found = verify(after_sweeps(case, 100))
    assert found.membership <= 1e-13
    assert found.support
    if found.residual <= 1e-12:  # some cases converge more slowly
        assert found.passed
        assert found.tv_bound <= 1e-4
    assert not found.exact


@given(cases(spread=3))
def test_verify__confirms_what_project_returns(case):
    result = pt.project(case.reference, case.constraints, on_failure="return")
    if result.converged:
        assert pt.verify(result).failures == ()


@given(SMALL, st.integers(0, 12))
def test_verify__residuals_are_those_of_fractions(case, sweeps):
    claimed = after_sweeps(case, sweeps)
    found = verify(claimed)
    masses = oracles.masses_of(claimed.table)
    total = oracles.total(case.feasible_masses)
    worst, worst_l1 = 0.0, 0.0
    for scope, target in zip(case.scopes, case.targets, strict=True):
        sums = oracles.marginal(masses, case.attributes, scope)
        misses = [float(abs(sums.get(row, 0) - target.get(row, 0)) / total) for row in {*sums, *target}]
        worst, worst_l1 = max(worst, *misses), max(worst_l1, sum(misses))
    assert found.residual == pytest.approx(worst, rel=1e-12, abs=1e-17)
    assert found.residual_l1 == pytest.approx(worst_l1, rel=1e-12, abs=1e-16)


@pytest.mark.parametrize("exact", [False, True])
def test_verify__bounds_hold_before_convergence(exact):
    proved = 0

    @settings(max_examples=8 if exact else 20)
    @given(SMALL, st.integers(0, 6))
    def holds(case, sweeps):
        nonlocal proved
        claimed = after_sweeps(case, sweeps)
        found = verify(claimed, exact=exact)
        answer = after_sweeps(case, 300)
        if verify(answer).tv_bound > 1e-9:
            return
        p, q = exact_shares(claimed.table), exact_shares(answer.table)
        assert found.bound >= oracles.kl(q, p) * (1 - 1e-7) - 1e-15
        assert found.tv_bound >= float(oracles.total_variation(p, q)) - 2e-9
        proved += found.bound < math.inf and sweeps < 3

    holds()
    assert proved > 0


@given(SMALL, st.integers(3, 10))
@settings(max_examples=10)
def test_verify__exact_and_extended_precision_agree(case, sweeps):
    claimed = after_sweeps(case, sweeps)
    found, enclosed = verify(claimed), verify(claimed, exact=True)
    assert enclosed.exact
    assert enclosed.residual == pytest.approx(found.residual, rel=1e-12, abs=1e-17)
    assert enclosed.residual_l1 == pytest.approx(found.residual_l1, rel=1e-12, abs=1e-16)
    assert enclosed.membership == pytest.approx(found.membership, rel=1e-2, abs=1e-18)
    assert enclosed.bound == pytest.approx(found.bound, rel=1e-6, abs=1e-28)
    assert enclosed.tv_bound == pytest.approx(found.tv_bound, rel=1e-3, abs=1e-14)
    assert enclosed.support == found.support


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("factor", [1 + 1e-9, 0.5, 3.0])
def test_verify__tells_a_wrong_mass(exact, factor):
    case = fixed_case()
    good = after_sweeps(case, 60, certified=True, bound=1e-20, tv_bound=1e-12, residual=1e-13, residual_l1=1e-12)
    assert verify(good, exact=exact).failures == ()
    found = verify(with_mass(good, 1, factor), exact=exact)
    assert not found.passed
    assert found.membership == pytest.approx(abs(factor - 1), rel=1e-5)
    assert any("deviates from its exponential family" in failure for failure in found.failures)
    assert any(failure.startswith("residual is") for failure in found.failures)


def fixed_case():
    """2 x 3 with both marginals: converges by a factor of more than 10 a sweep."""
    profiles = [(a, b) for a in ("x", "y") for b in (1, 2, 3)]
    reference = dict(zip(profiles, map(oracles.Fraction, (3, 1, 4, 1, 5, 9)), strict=True))
    feasible = dict(zip(profiles, map(oracles.Fraction, (2, 7, 1, 8, 2, 8)), strict=True))
    return Case(("a", "b"), (("x", "y"), (1, 2, 3)), reference, feasible, (("a",), ("b",)), "sparse")


@pytest.mark.parametrize("exact", [False, True])
def test_verify__tells_claims_that_are_too_good(exact):
    early = after_sweeps(fixed_case(), 2)
    honest = verify(early, exact=exact)
    assert 0 < honest.bound < math.inf
    fields = {"residual": honest.residual, "residual_l1": honest.residual_l1, "certified": True}
    proved = {"bound": honest.bound, "tv_bound": honest.tv_bound}
    assert verify(replace(early, **fields, **proved), exact=exact).passed
    for name in (*fields, *proved):
        if name != "certified":
            spoilt = replace(early, **{**fields, **proved, name: {**fields, **proved}[name] / 3})
            assert [f.split()[0] for f in verify(spoilt, exact=exact).failures] == [name]


@pytest.mark.parametrize("exact", [False, True])
def test_verify__tells_a_divergence_that_is_another(exact):
    good = after_sweeps(fixed_case(), 60)
    found = verify(good, exact=exact)
    assert found.passed
    assert found.divergence == pytest.approx(good.divergence, rel=1e-12)
    for factor in (1 - 1e-8, 1 + 1e-8, 0.0, math.nan, math.inf):
        told = verify(replace(good, claimed_divergence=good.divergence * factor), exact=exact)
        assert [failure.split()[0] for failure in told.failures] == ["divergence"]


def test_verify__does_not_pass_what_says_that_it_failed():
    found = verify(after_sweeps(fixed_case(), 60, termination=Ending.LIMIT))
    assert found.failures == ("the ending of the result is: the iteration limit came first",)
    assert not found.passed


def test_verify__tells_a_point_off_the_family_although_its_marginals_are_right():
    case = fixed_case()
    feasible = replace(after_sweeps(case, 60), table=case.feasible)
    found = verify(feasible)
    assert found.residual == 0
    assert found.membership > 0.01
    assert not found.passed


def test_verify__proves_nothing_where_the_feasible_point_is_negative():
    # far from the answer: the least-norm change would take more from a cell than it has
    case = fixed_case()
    profiles = list(case.reference_masses)
    far = replace(case, feasible_masses=dict(zip(profiles, map(oracles.Fraction, (20, 1, 1, 1, 1, 1)), strict=True)))
    found = verify(after_sweeps(far, 0))
    assert (found.bound, found.tv_bound) == (math.inf, 1)
    found = verify(after_sweeps(far, 0, certified=True, bound=5.0, tv_bound=0.9))
    assert "bound is inf nats, but 5 is claimed" in found.failures
    # elimination in fractions takes what is missed from heavy cells: feasible, and far
    found = verify(after_sweeps(far, 0), exact=True)
    answer = exact_shares(after_sweeps(far, 300).table)
    start = exact_shares(after_sweeps(far, 0).table)
    assert oracles.kl(answer, start) <= found.bound < math.inf
    assert oracles.total_variation(answer, start) <= found.tv_bound < 1


def test_verify__takes_potentials_in_any_layout_order_and_units():
    case = fixed_case()
    good = after_sweeps(case, 60)
    scaled = replace(
        good,
        reference=pt.to_dense(good.reference) * 2.0**-500,
        potentials=(good.potentials[0].isel(profile=[1, 0]) + 500 * math.log(2.0), pt.to_dense(good.potentials[1])),
    )
    found = verify(scaled)
    assert found.membership <= 1e-12
    assert found.failures == ()


def test_verify__wants_potentials_for_every_constraint():
    good = after_sweeps(fixed_case(), 60)
    with pytest.raises(pt.InvalidTableError, match="2 constraints, but 1 tables of potentials"):
        verify(replace(good, potentials=good.potentials[:1]))
    found = verify(replace(good, potentials=(good.potentials[0].isel(profile=[0]), good.potentials[1])))
    assert found.membership == math.inf
    assert not found.passed


def test_verify__holds_zero_targets_to_exact_zeros():
    a, b = ["x", "y"], [1, 2]
    reference = table_from(("a", "b"), (a, b), {(i, j): 1 for i in a for j in b})
    result = pt.project(reference, pt.Marginal(table_from(("a",), (a,), {("x",): 1.0, ("y",): 0.0})))
    assert verify(result).passed
    spoilt = result.table.copy(data=np.where(result.table.values == 0, 1e-300, result.table.values))
    found = verify(replace(result, table=spoilt))
    assert not found.support
    assert "the table has mass on a profile that a zero target excludes" in found.failures


def test_verify__tells_mass_off_the_reference():
    good = after_sweeps(fixed_case(), 60)
    narrow = replace(good, reference=good.reference.where(good.reference != 1, 0.0))
    found = verify(narrow)
    assert not found.support
    assert found.failures[0] == "the table has mass at (a=x, b=2), where the reference has none"


@pytest.mark.parametrize("exact", [False, True])
def test_verify__proves_implied_zeros(exact):
    answer = staircase({("r1", "c2"): 1.0, ("r2", "c1"): 1.0})
    found = verify(answer, exact=exact)
    assert found.support
    assert found.passed
    assert found.residual == 0
    assert found.tv_bound <= 1e-12


def test_verify__does_not_believe_zeros_that_nothing_implies():
    good = after_sweeps(fixed_case(), 60)
    table = good.table.copy(deep=True)
    table[0] = 0.0
    found = verify(replace(good, table=table))
    assert not found.support
    assert "the table is empty on 1 profiles that are not proved to be implied zeros" in found.failures
    # nor these: the staircase empties (r1, c1) and no other
    found = verify(staircase({("r1", "c1"): 1.0, ("r2", "c1"): 1.0}))
    assert not found.support


def test_verify__exact_refuses_large_problems():
    rows = {(str(i),): 1 for i in range(3000)}
    reference = table_from(("a",), ([str(i) for i in range(3000)],), rows)
    result = pt.project(reference, pt.Marginal(reference))
    assert verify(result).passed
    with pytest.raises(pt.InvalidOptionError, match="exact=True supports small problems"):
        verify(result, exact=True)


def onto_pur():
    """Drawn counts projected onto their three marginals of PUR."""
    rng = np.random.default_rng(3)
    counts = pt.tabulate({"y": rng.integers(0, 3, 200), "s": rng.integers(0, 2, 200), "x": rng.integers(0, 4, 200)})
    return pt.project(counts, pt.pur(counts, protected="s", response="y"))


def named_otherwise(result, change):
    """The same result that names other rows."""
    rows = [own.copy(deep=True) for own in result.independent_rows]
    change(rows)
    names = (*Claimed.__dataclass_fields__, "converged", "divergence")
    fields = {name: getattr(result, name) for name in names if name != "claimed_divergence"}
    return SimpleNamespace(**fields, independent_rows=tuple(rows))


def set_first(rows, value):
    """Mark the first row of the last table that has the other mark."""
    flat = rows[-1].values.reshape(-1)
    flat[np.flatnonzero(flat != value)[0]] = value


def exchange(rows):
    """As many rows, of which some depend on each other: all of the first two tables, fewer of the third."""
    count = sum(int(own.values.sum()) for own in rows)
    for own in rows[:2]:
        own.values[...] = True
    flat = rows[2].values.reshape(-1)
    flat[:] = False
    flat[: count - sum(own.size for own in rows[:2])] = True


@pytest.mark.parametrize("most_work", [10**7, 0], ids=["in fractions", "on a basis"])
@pytest.mark.parametrize(
    ("change", "sound"),
    [
        (lambda rows: None, True),
        (lambda rows: set_first(rows, True), False),
        (lambda rows: set_first(rows, False), False),
        (exchange, False),
    ],
    ids=["as they are", "one more", "one fewer", "as many that depend"],
)
def test_verify__judges_the_rows_that_a_result_names(change, sound, most_work, monkeypatch):
    monkeypatch.setattr("purtensor.verification.repair.MOST_WORK", most_work)
    result = onto_pur()
    found = pt.verify(named_otherwise(result, change))
    wrong = [failure for failure in found.failures if "named as independent" in failure]
    if sound:
        assert found.passed
    elif most_work or change is not exchange:
        assert len(wrong) == 1
    # of as many rows no forest of two constraints shows that they depend: they are not followed then
    assert found.tv_bound == pytest.approx(pt.verify(result).tv_bound, rel=0.5, abs=1e-14)


@pytest.mark.parametrize("exact", [False, True])
def test_verify__bounds_shares_where_the_table_has_another_total(exact):
    """A total that is off by 2^-30 would cost half its square, 4e-19 nats: more than the divergence from the answer."""
    result = onto_pur()
    names = ("constraints", "potentials", "termination", "residual", "residual_l1", "divergence", "bound", "tv_bound")
    fields = {name: getattr(result, name) for name in (*names, "reference_in", "converged", "certified")}
    larger = {name: getattr(result, name) * (1 + 2.0**-30) for name in ("table", "reference")}
    found = pt.verify(SimpleNamespace(**fields, **larger), exact=exact)
    assert found.bound == pytest.approx(pt.verify(result).bound, rel=1e-3)
    assert found.bound < 1e-20
    assert found.residual > 1e-11


@pytest.mark.parametrize("seed", range(4))
def test_verify__keeps_the_named_rows_on_a_basis_too(seed, monkeypatch):
    monkeypatch.setattr("purtensor.verification.repair.MOST_WORK", 0)
    rng = np.random.default_rng(seed)
    sizes = {"a": 3, "b": 4, "c": 2, "d": 3}
    counts = pt.tabulate({name: rng.integers(0, size, 120) for name, size in sizes.items()})
    scopes = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")][: 1 + seed]
    target = pt.tabulate({name: rng.integers(0, size, 3000) for name, size in sizes.items()})
    result = pt.project(counts, [pt.Marginal(pt.marginal(target, scope)) for scope in scopes], on_failure="return")
    evidence = gather(result)
    proof = prove(evidence, find_emptied(evidence, np.zeros(len(evidence.masses), dtype=bool)))
    assert proof.keeps_named is True
    assert proof.rows.named.sum() < len(proof.rows.targets) or len(scopes) == 1


def test_verify__knows_the_rows_of_saved_results(tmp_path):
    result = onto_pur()
    pt.save(result, tmp_path / "r.nc")
    again = pt.load(tmp_path / "r.nc")
    for one, other in zip(result.independent_rows, again.independent_rows, strict=True):
        assert one.equals(other.astype(bool))
    assert pt.verify(again).passed
