"""Targets that contradict each other are named; targets that differ by rounding pass."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt
from purtensor.constraints.consistency import check_consistency


def table(values: object, **categories: list[object]) -> xr.DataArray:
    return xr.DataArray(np.asarray(values, dtype=float), dims=list(categories), coords=categories)


def sparse(values: list[float], *columns: list[object], names: list[str]) -> xr.DataArray:
    index = pd.MultiIndex.from_arrays(columns, names=names)
    return xr.DataArray(values, dims="profile", coords=xr.Coordinates.from_pandas_multiindex(index, "profile"))


def marginals(*tables: xr.DataArray) -> tuple[pt.Marginal, ...]:
    return tuple(map(pt.Marginal, tables))


def test_check_consistency__totals_that_differ() -> None:
    rows = table([40, 60], row=["r1", "r2"])
    columns = table([50, 31, 20], column=["c1", "c2", "c3"])
    with pytest.raises(pt.InconsistentTargetsError) as caught:
        check_consistency(marginals(rows, columns))
    assert str(caught.value) == "total 100 in (row) but 101 in (column)"


def test_check_consistency__shared_marginal_in_another_order() -> None:
    one = table([[30, 20], [22, 28]], i=["i1", "i2"], k=["k1", "k2"])
    two = table([[10, 30], [25, 35]], k=["k1", "k2"], j=["j1", "j2"])
    with pytest.raises(pt.InconsistentTargetsError) as caught:
        check_consistency(marginals(one, two))
    assert str(caught.value) == "'k=k1' is 52 in (i, k) but 40 in (k, j)"


def test_check_consistency__names_the_country_and_both_totals() -> None:
    sizes = table([[60, 40], [50, 50]], country=["AT", "BE"], size=["small", "large"])
    sectors = table([[70, 30], [50, 51]], country=["AT", "BE"], sector=["a", "b"])
    with pytest.raises(pt.InconsistentTargetsError) as caught:
        check_consistency(marginals(sizes, sectors))
    assert str(caught.value) == (
        "'country=BE' is 100 in (country, size) but 101 in (country, sector); their totals are 200 and 201"
    )


def test_check_consistency__names_the_largest_shared_marginal_and_the_worst_profile() -> None:
    cube = np.arange(1.0, 9.0).reshape(2, 2, 2)
    other = cube.copy()
    other[0, 1, 0] += 2
    other[1, 1, 0] -= 2
    abc = table(cube, a=[0, 1], b=[0, 1], c=[0, 1])
    abd = table(other, a=[0, 1], b=[0, 1], d=[0, 1])
    with pytest.raises(pt.InconsistentTargetsError, match=r"'a=0, b=1' is 7 in \(a, b, c\) but 9 in \(a, b, d\)"):
        check_consistency(marginals(abc, abd))


def test_check_consistency__same_scope_twice() -> None:
    with pytest.raises(
        pt.InconsistentTargetsError, match=r"'a=0' is 1 in the first target over \(a\) but 2 in another"
    ):
        check_consistency(marginals(table([1, 2], a=[0, 1]), table([2, 1], a=[0, 1])))


def test_check_consistency__category_that_one_target_lacks_has_nothing_there() -> None:
    one = sparse([1.0, 2.0], ["u", "v"], ["x", "y"], names=["a", "b"])
    two = sparse([1.0, 2.0], ["u", "w"], ["x", "y"], names=["a", "c"])
    with pytest.raises(pt.InconsistentTargetsError, match=r"'a=v' is 2 in \(a, b\) but 0 in \(a, c\)"):
        check_consistency(marginals(one, two))


def test_check_consistency__true_is_not_one() -> None:
    one = sparse([1.0, 2.0], [0, 1], ["x", "y"], names=["a", "b"])
    two = sparse([1.0, 2.0], [False, True], ["x", "y"], names=["a", "c"])
    with pytest.raises(pt.InconsistentTargetsError, match="'a=1' is 2"):
        check_consistency(marginals(one, two))


def test_check_consistency__layouts_and_category_orders_do_not_matter() -> None:
    dense = table([[1, 2, 0], [3, 4, 5]], a=["u", "v"], b=["x", "y", "z"])
    shuffled = sparse([7.0, 1.0, 5.0, 2.0], list("vuvu"), list("pqqp"), names=["a", "c"])
    check_consistency(marginals(dense, sparse([12.0, 3.0], ["v", "u"], names=["a"])))
    check_consistency(marginals(dense, shuffled))


def test_check_consistency__rounding_in_the_last_bits_passes() -> None:
    rng = np.random.default_rng(3)
    masses = rng.gamma(0.3, 1.0, 10**6) / 7
    codes = rng.integers(0, 4, 10**6)
    order = rng.permutation(10**6)
    one = [masses[codes == c].sum() for c in range(4)]
    two = [masses[order][codes[order] == c].sum() for c in range(4)]
    assert one != two
    check_consistency(marginals(table(one, a=[0, 1, 2, 3]), table(two, a=[0, 1, 2, 3])))


@pytest.mark.parametrize("total", [1e-30, 1.0, 1e12])
def test_check_consistency__rule_is_64_eps_of_the_total(total: float) -> None:
    base = np.array([0.25, 0.75])
    eps = np.finfo(float).eps
    for share, passes in ((60, True), (70, False)):
        moved = (base + share * eps * np.array([1, -1])) * total
        pair = marginals(table(base * total, a=[0, 1]), table(moved, a=[0, 1]))
        if passes:
            check_consistency(pair)
        else:
            with pytest.raises(pt.InconsistentTargetsError, match="'a=0' is"):
                check_consistency(pair)


def test_check_consistency__values_are_told_apart_to_the_last_digit() -> None:
    pair = marginals(table([0.25, 0.75], a=[0, 1]), table([0.25 + 1e-13, 0.75 - 1e-13], a=[0, 1]))
    with pytest.raises(pt.InconsistentTargetsError, match=r"is 0\.25 in .* but 0\.2500000000001 in"):
        check_consistency(pair)


@given(st.data())
def test_check_consistency__agrees_with_comparing_every_pair(data: st.DataObject) -> None:
    """Perturb one cell of one target: refused exactly when a slow comparison of every pair finds a difference."""
    sizes = {"a": 2, "b": 3, "c": 2, "d": 2}
    joint = table(
        np.array(data.draw(st.lists(st.integers(0, 3), min_size=24, max_size=24))).reshape(2, 3, 2, 2) + 1,
        **{name: list(range(size)) for name, size in sizes.items()},
    )
    subsets = [s for n in (1, 2, 3) for s in itertools.combinations(sizes, n)]
    scopes = data.draw(st.lists(st.sampled_from(subsets), min_size=2, max_size=5))
    targets = [joint.sum([name for name in sizes if name not in scope]).copy() for scope in scopes]
    touched = data.draw(st.integers(0, len(targets) - 1))
    flat = targets[touched].values.reshape(-1)
    here, there = data.draw(st.integers(0, flat.size - 1)), data.draw(st.integers(0, flat.size - 1))
    flat[here] += 1
    flat[there] -= 1
    agree = all(
        np.array_equal(*(t.sum([n for n in t.dims if n not in shared]).transpose(*shared).values for t in pair))
        for pair in itertools.combinations(targets, 2)
        for shared in [[n for n in pair[0].dims if n in pair[1].dims]]
    )
    given_ = marginals(*(t.transpose(*reversed(t.dims)) for t in targets))
    if agree:
        check_consistency(given_)
    else:
        with pytest.raises(pt.InconsistentTargetsError):
            check_consistency(given_)
