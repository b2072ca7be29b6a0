"""Names, families, and equality with the shared benchmark set to the last bit."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

import purtensor as pt
from purtensor.tables.coded import encode, is_sparse

SMALL = ("a", "b", "b_hard", "b_hard2", "b_hardbias", "b_inf", "b_lam0", "i4")


@pytest.fixture
def shared_problems(shared, tmp_path, monkeypatch):
    monkeypatch.setenv("PURTENSOR_BENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    specification = importlib.util.spec_from_file_location("shared_problems", shared / "bench" / "problems.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SMALL)
def test_load__same_bits_as_the_shared_set(shared_problems, name):
    wanted = shared_problems.load(name)
    problem = pt.problems.load(name)
    assert problem.kind == wanted["kind"]
    assert np.array_equal(problem.masses, wanted["weight" if name == "i4" else "ref"])
    assert [axes for axes, _ in problem.targets] == [axes for axes, _ in wanted["margins"]]
    for (_, target), (_, wanted_target) in zip(problem.targets, wanted["margins"]):
        assert np.array_equal(target, wanted_target)
    if name == "i4":
        assert np.array_equal(problem.codes, wanted["codes"])


def test_names__hold_the_whole_shared_set(shared_problems):
    assert set(shared_problems.SPEC) <= set(pt.problems.names())


def test_load__twice_gives_the_same_numbers_in_arrays_of_its_own():
    first, second = pt.problems.load("a"), pt.problems.load("a")
    assert np.array_equal(first.masses, second.masses)
    assert not np.shares_memory(first.masses, second.masses)


@pytest.mark.parametrize("name", [*SMALL, "staircase", "and_gate", "haberman", "haberman_boundary", "proxy", "cut_3x3"])
def test_load__tables_say_what_the_arrays_say(name):
    problem = pt.problems.load(name)
    masses, targets = problem.arrays()
    coded = encode(problem.reference)
    assert is_sparse(problem.reference) == (problem.kind == "records")
    assert np.array_equal(coded.values, masses[masses > 0])
    assert len(coded.values) == problem.profiles
    attributes = problem.reference.indexes["profile"].names if problem.codes is not None else problem.reference.dims
    for constraint, (axes, target) in zip(problem.constraints, targets, strict=True):
        assert constraint.scope == tuple(attributes[axis] for axis in axes)
        assert np.array_equal(constraint.target.values, target)


def test_load__tables_are_copies():
    problem = pt.problems.load("a")
    before = problem.masses.copy()
    problem.reference.values[:] = 7.0
    problem.constraints[0].target.values[:] = 7.0
    assert np.array_equal(problem.masses, before)
    assert problem.targets[0][1].max() < 1


def test_load__unknown_name_lists_the_known_ones():
    with pytest.raises(pt.InvalidOptionError, match=r"no problem 'z'; there are a, b, .*staircase"):
        pt.problems.load("z")


@pytest.mark.parametrize(
    ("family", "sizes"),
    [
        ("pur", {"responses": 2, "protected": 3, "unprotected": 11}),
        ("pur", {"responses": 3, "protected": 2, "unprotected": 11, "records": 200, "strength": 1e-2}),
        ("binary", {"attributes": 5}),
        ("cube", {"categories": 4}),
        ("records", {"profiles": 60, "attributes": 4, "categories": 9}),
    ],
)
def test_generate__same_seed_same_problem_and_targets_that_agree(family, sizes):
    one, again, other = (pt.problems.generate(family, seed=seed, **sizes) for seed in (5, 5, 6))
    assert np.array_equal(one.masses, again.masses)
    assert not np.array_equal(one.targets[0][1], other.targets[0][1])
    assert one.masses.sum() == pytest.approx(1, abs=1e-14)
    for _, target in one.targets:
        assert target.sum() == pytest.approx(1, abs=1e-14)
    assert one.name.startswith(family + "(")


@pytest.mark.parametrize("family", ["pur", "binary", "cube"])
def test_generate__targets_agree_on_what_they_share(family):
    sizes = {
        "pur": {"responses": 3, "protected": 4, "unprotected": 9, "records": 100},
        "binary": {"attributes": 4},
        "cube": {"categories": 5},
    }
    problem = pt.problems.generate(family, seed=2, **sizes[family])
    single = {}
    for axes, target in problem.targets:
        for k, axis in enumerate(axes):
            marginal = target.sum(axis=1 - k)
            assert marginal == pytest.approx(single.setdefault(axis, marginal), abs=1e-15)


def test_generate__records_beyond_64_bits():
    problem = pt.problems.generate("records", seed=1, profiles=50, attributes=40, categories=10)
    assert problem.codes.shape == (50, 40)
    assert len(np.unique(problem.codes, axis=0)) == 50
    assert len(problem.reference) == 50


@pytest.mark.parametrize(
    ("family", "sizes", "message"),
    [
        ("torus", {}, "no family 'torus'; there are pur, binary"),
        ("binary", {"levels": 3}, "no option 'levels' in family 'binary'; its options are attributes"),
        ("binary", {}, "family 'binary' needs 'attributes'"),
        ("cube", {"categories": 0}, "categories must be a positive whole number, got 0"),
        ("cube", {"categories": 2.5}, "categories must be a positive whole number, got 2.5"),
        ("pur", {"responses": 2, "protected": 2, "unprotected": 3, "strength": -1}, "strength must be a finite number"),
        ("records", {"profiles": 5, "attributes": 3}, "attributes must be an even number, got 3"),
        ("records", {"profiles": 100, "attributes": 2, "categories": 2}, "only 4 of 108 draws"),
        ("binary", {"attributes": 1}, "need 2 to 64 attributes, got 1$"),
        ("binary", {"attributes": 10**9}, "need 2 to 64 attributes, got 1000000000$"),
        ("pur", {"responses": 2, "protected": 2, "unprotected": 3, "strength": 1e308}, "over all 12 profiles together"),
        ("pur", {"responses": 2, "protected": 2, "unprotected": 5, "bias": 1e308}, "effects .* bias=1e.308"),
        (
            "pur",
            {"responses": 2, "protected": 2, "unprotected": 5, "utility": 1e308, "records": 9},
            "effects .*utility",
        ),
    ],
)
def test_generate__refuses(family, sizes, message):
    with pytest.raises(pt.InvalidOptionError, match=message):
        pt.problems.generate(family, seed=1, **sizes)


@pytest.mark.parametrize(
    ("family", "sizes", "what"),
    [
        ("pur", {"responses": 10, "protected": 10, "unprotected": 10**12}, "10 x 10 x 1000000000000 profiles"),
        ("binary", {"attributes": 50}, "50 binary attributes"),
        ("cube", {"categories": 10**6}, r"1000000\^3 profiles"),
        ("records", {"profiles": 10**15}, r"1000000000000000 profiles out of 10\^12"),
        ("records", {"profiles": 10, "categories": 10**8}, r"10 profiles out of 100000000\^12"),
    ],
)
def test_generate__refuses_what_does_not_fit_before_it_draws(family, sizes, what):
    with pytest.raises(pt.TooLargeError, match=rf"a problem of {what} needs \d+ bytes .* take smaller sizes"):
        pt.problems.generate(family, seed=1, **sizes)


def test_variant__keeps_the_random_numbers_of_the_name():
    named, same = pt.problems.load("b"), pt.problems.variant("b")
    assert np.array_equal(named.masses, same.masses)
    assert same.name == "b"
    weaker = pt.problems.variant("b", strength=0.0)
    assert weaker.name == "b with strength=0.0"
    counts = weaker.masses * 45_000
    assert np.abs(counts - np.round(counts)).max() < 1e-9  # records alone: every mass is a count
    assert np.array_equal(weaker.masses > 0, named.masses > 2 * named.masses[named.masses > 0].min())


def test_variant__refuses():
    with pytest.raises(pt.InvalidOptionError, match="no simulated problem 'proxy'"):
        pt.problems.variant("proxy")
    with pytest.raises(pt.InvalidOptionError, match="no option 'levels' in family 'pur'"):
        pt.problems.variant("b", levels=3)


def test_arrays__are_copies():
    problem = pt.problems.load("staircase")
    masses, targets = problem.arrays()
    masses += 1.0
    targets[0][1][:] = 0.0
    again, same = pt.problems.load("staircase").arrays()
    assert np.array_equal(problem.masses, again)
    assert np.array_equal(problem.targets[0][1], same[0][1])
