"""ipfn's calling shape: its answers where it is right, the right ones where its users reported faults."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import purtensor as pt
from purtensor.compat import ipfn

THEIRS = "ipfn.ipfn"


def theirs(*arguments: Any, **options: Any) -> Any:
    module = pytest.importorskip(THEIRS)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas, about the way in which it is used
        return module.ipfn(*arguments, **options).iteration()


def drawn(seed: int, shape: tuple[int, ...], dimensions: list[list[int]]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return a positive table, and the marginals of another one with axes in the order of `dimensions`."""
    rng = np.random.default_rng(seed)
    goal = rng.gamma(1.0, 10.0, shape) + 0.1
    targets = []
    for axes in dimensions:
        sums = goal.sum(axis=tuple(axis for axis in range(goal.ndim) if axis not in axes))
        targets.append(np.transpose(sums, np.argsort(np.argsort(axes))))
    return rng.gamma(1.0, 1.0, shape) + 0.1, targets


@pytest.mark.parametrize(
    ("shape", "dimensions"), [((3, 4), [[0], [1]]), ((2, 3, 4), [[0, 1], [1, 2]]), ((3, 2, 4), [[0], [1, 2]])]
)
def test_ipfn__arrays_as_the_original(shape: tuple[int, ...], dimensions: list[list[int]]) -> None:
    table, targets = drawn(1, shape, dimensions)
    before = table.copy()
    fitted = ipfn.ipfn(table, targets, dimensions, convergence_rate=1e-9).iteration()
    assert np.array_equal(table, before)  # theirs overwrites it
    expected = theirs(table, targets, dimensions, convergence_rate=1e-12, max_iteration=5000, rate_tolerance=0.0)
    assert fitted == pytest.approx(expected, rel=1e-7)
    assert not np.allclose(fitted, before)


def test_ipfn__data_frames_as_the_original() -> None:
    table, targets = drawn(2, (3, 4), [[0], [1]])
    index = pd.MultiIndex.from_product([["a", "b", "c"], [10, 20, 30, 40]], names=["letter", "number"])
    frame = pd.DataFrame({"total": table.ravel()}, index=index).reset_index()
    series = [
        pd.Series(targets[0], pd.Index(["a", "b", "c"], name="letter")),
        pd.Series(targets[1], pd.Index([10, 20, 30, 40], name="number")),
    ]
    dimensions = [["letter"], ["number"]]
    fitted = ipfn.ipfn(frame, series, dimensions).iteration()
    assert list(fitted.columns) == ["letter", "number", "total"]
    expected = theirs(frame.copy(), series, dimensions, convergence_rate=1e-12, rate_tolerance=0.0)
    both = fitted.merge(expected, on=["letter", "number"])
    assert len(both) == 12
    assert both["total_x"].to_numpy() == pytest.approx(both["total_y"].to_numpy(), rel=1e-8)


def three_way_frame() -> tuple[pd.DataFrame, list[pd.Series], list[list[str]]]:
    rng = np.random.default_rng(7)
    index = pd.MultiIndex.from_product([range(2), range(3), range(3)], names=["i", "j", "k"])
    weights = rng.gamma(2.0, 5.0, 18)
    weights[[0, 3, 5, 8, 10, 13, 16]] = 0.0
    frame = pd.DataFrame({"total": weights}, index=index).reset_index()
    goal = frame.assign(total=weights * rng.uniform(0.5, 2.0, 18))
    dimensions = [["i", "j"], ["j", "k"], ["i", "k"]]
    return frame, [goal.groupby(names)["total"].sum() for names in dimensions], dimensions


@given(st.permutations(range(18)))
def test_ipfn__row_order_does_not_matter_and_zeros_stay(order: list[int]) -> None:  # Dirguis/ipfn 28
    frame, targets, dimensions = three_way_frame()
    shuffled = frame.iloc[list(order)]
    fitted = ipfn.ipfn(shuffled, targets, dimensions).iteration()
    assert fitted[["i", "j", "k"]].equals(shuffled[["i", "j", "k"]])
    plain = ipfn.ipfn(frame, targets, dimensions).iteration()["total"]
    assert fitted["total"].sort_index().to_numpy() == pytest.approx(plain.to_numpy(), rel=1e-6)
    assert (fitted["total"][frame["total"] == 0] == 0).all()
    for names, target in zip(dimensions, targets):
        assert fitted.groupby(names)["total"].sum().to_numpy() == pytest.approx(target.to_numpy(), rel=1e-5)


def test_ipfn__axes_in_another_order() -> None:  # Dirguis/ipfn 31
    table, targets = drawn(3, (2, 4, 3), [[0, 1], [0, 2]])
    plain = ipfn.ipfn(table, targets, [[0, 1], [0, 2]]).iteration()
    turned = ipfn.ipfn(table, [targets[0], targets[1].T], [[0, 1], [2, 0]]).iteration()
    assert turned == pytest.approx(plain, rel=1e-12)
    frame, series, dimensions = three_way_frame()
    swapped = [series[0], series[1], series[2].reorder_levels(["k", "i"]).sort_index()]
    expected = ipfn.ipfn(frame, series, dimensions).iteration()["total"]
    assert ipfn.ipfn(frame, swapped, dimensions).iteration()["total"].equals(expected)
    nameless = series[2].rename_axis([None, None])
    found = ipfn.ipfn(frame, [*series[:2], nameless], dimensions).iteration()["total"]
    assert found.to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-12)


def test_ipfn__targets_that_disagree() -> None:  # Dirguis/ipfn 31
    one = np.array([[30.0, 22.0], [28.0, 20.0]])
    other = np.array([[20.0, 20.0], [40.0, 20.0]])
    with pytest.raises(pt.InconsistentTargetsError, match=r"axis 0=0.*52.*40"):
        ipfn.ipfn(np.ones((2, 2, 2)), [one, other], [[0, 1], [0, 2]]).iteration()


def test_ipfn__an_axis_that_no_target_mentions_keeps_its_conditional() -> None:  # Dirguis/ipfn 17
    table, targets = drawn(5, (2, 3, 2, 4), [[0, 1], [1, 2]])
    table[0, 0, 0, 1] = 0.0
    fitted = ipfn.ipfn(table, targets, [[0, 1], [1, 2]]).iteration()
    shares, before = fitted / fitted.sum(axis=3, keepdims=True), table / table.sum(axis=3, keepdims=True)
    assert shares == pytest.approx(before, rel=1e-12)
    assert fitted.sum(axis=(2, 3)) == pytest.approx(targets[0], rel=1e-8)
    assert fitted.sum(axis=(0, 3)) == pytest.approx(targets[1], rel=1e-8)


def test_ipfn__the_flag_is_of_all_targets() -> None:  # Dirguis/ipfn pull request 4
    table, targets = drawn(6, (4, 4), [[0], [1]])
    fitted, flag = ipfn.ipfn(table, targets, [[0], [1]], verbose=1, max_iteration=1).iteration()
    assert flag == 0
    assert np.abs(fitted.sum(axis=1) - targets[0]).max() > 1e-6 * targets[0].sum()
    with pytest.raises(pt.NotConvergedError):
        ipfn.ipfn(table, targets, [[0], [1]], max_iteration=1).iteration()
    fitted, flag, misses = ipfn.ipfn(table, targets, [[0], [1]], verbose=2).iteration()
    assert flag == 1
    assert misses.index.name == "iteration"
    assert misses["conv"].iloc[-1] <= 1e-10
    assert misses["conv"].iloc[0] > misses["conv"].iloc[-1]


def test_ipfn__totals_that_differ() -> None:  # UDST/synthpop pull request 29
    with pytest.raises(pt.InconsistentTargetsError, match=r"100.*101"):
        ipfn.ipfn(np.ones((2, 3)), [np.array([40, 60]), np.array([50, 31, 20])], [[0], [1]]).iteration()


def test_ipfn__an_empty_column_with_a_target() -> None:  # virgesmith/humanleague 50
    table = np.ones((3, 3))
    table[:, 0] = 0.0
    with pytest.raises(pt.InfeasibleError, match=r"axis 1=0 needs 1.*its support is empty"):
        ipfn.ipfn(table, [np.ones(3), np.ones(3)], [[0], [1]], verbose=1).iteration()


def test_ipfn__a_target_of_zero_empties_its_cells() -> None:  # spatial-microsim-book 141, icarus 18
    fitted = ipfn.ipfn(np.ones((2, 3)), [np.array([4.0, 6.0]), np.array([5.0, 0.0, 5.0])], [[0], [1]]).iteration()
    assert fitted == pytest.approx(np.array([[2.0, 0.0, 2.0], [3.0, 0.0, 3.0]]), rel=1e-14)
    assert (fitted[:, 1] == 0).all()


def test_ipfn__slow_problems_are_solved() -> None:
    problem = pt.problems.load("b")
    masses, targets = problem.arrays()
    call = ipfn.ipfn(masses, [target for _, target in targets], [list(axes) for axes, _ in targets])
    fitted = call.iteration()
    assert call.projection is not None
    assert call.projection.certified
    for axes, target in targets:
        others = tuple(axis for axis in range(3) if axis not in axes)
        assert np.abs(fitted.sum(axis=others) - target).max() < 1e-10


def test_ipfn__duplicate_rows_share_their_profile_s_factor() -> None:
    frame = pd.DataFrame({"sex": ["f", "m", "f"], "w": [1.0, 2.0, 3.0], "name": ["x", "y", "z"]})
    targets = [pd.Series({"f": 8.0, "m": 1.0})]
    fitted = ipfn.ipfn(frame, targets, [["sex"]], weight_col="w").iteration()
    assert fitted["w"].tolist() == pytest.approx([2.0, 1.0, 6.0], rel=1e-14)
    assert fitted["name"].tolist() == ["x", "y", "z"]
    assert frame["w"].tolist() == [1.0, 2.0, 3.0]


FRAME = pd.DataFrame({"sex": ["f", "m"], "total": [1.0, 2.0]})
SEX = pd.Series({"f": 1.0, "m": 1.0})
TABLE, ROWS = np.ones((2, 2)), np.ones(2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((FRAME.assign(sex=["f", None]), [SEX], [["sex"]]), pt.InvalidTableError, "missing value in row 1"),
        ((FRAME.assign(total=[1.0, np.nan]), [SEX], [["sex"]]), pt.InvalidTableError, "row 1, column 'total': has nan"),
        ((FRAME, [SEX], [["age"]]), pt.UnknownAttributeError, "no attribute 'age'; the data frame has sex, total"),
        ((FRAME, [SEX.iloc[:1]], [["sex"]]), pt.UnknownCategoryError, "'m', which has weight|not list 'm'"),
        ((FRAME, [pd.Series({"f": 1.0, "m": 1.0, "x": 1.0})], [["sex"]]), pt.UnknownCategoryError, "x"),
        ((FRAME, [[1.0, 2.0]], [["sex"]]), pt.InvalidOptionError, "must be a Series with 1 index levels"),
        ((FRAME, [SEX.map({1.0: -1.0})], [["sex"]]), pt.InvalidTableError, "the target of 'f' has -1"),
        (
            (FRAME, [pd.Series([1.0, 1.0], ["f", None])], [["sex"]]),
            pt.InvalidTableError,
            "over sex has a missing value",
        ),
        ((TABLE, [np.ones(3), ROWS], [[0], [1]]), pt.InvalidTableError, r"the shape \(2,\) of the table, got \(3,\)"),
        ((TABLE, [ROWS, ROWS], [[0], [2]]), pt.InvalidOptionError, "distinct integers from 0 to 1"),
        ((TABLE, [ROWS], [[0], [1]]), pt.InvalidOptionError, "1 targets and 2 entries"),
        ((TABLE * np.nan, [ROWS], [[0]]), pt.InvalidTableError, "axis 0=0"),
        ((TABLE.tolist(), [ROWS], [[0]]), pt.InvalidOptionError, "a numpy array or a data frame"),
        ((np.ma.masked_array(TABLE, TABLE > 0), [ROWS], [[0]]), pt.InvalidTableError, "the table has masked cells"),
        ((TABLE, [np.ma.masked_array(ROWS, [0, 1])], [[0]]), pt.InvalidTableError, "a target has masked cells"),
        ((TABLE, [ROWS], [[False]]), pt.InvalidOptionError, "distinct integers from 0 to 1"),
        ((pd.concat([FRAME, FRAME[["sex"]]], axis=1), [SEX], [["sex"]]), pt.InvalidTableError, "two columns 'sex'"),
        (
            (FRAME.rename(columns={"sex": "profile"}), [SEX.rename_axis("profile")], [["profile"]]),
            pt.InvalidTableError,
            "'profile' is the dimension",
        ),
        ((TABLE, [ROWS], [[0]], "total", 0.0), pt.InvalidOptionError, "convergence_rate"),
        ((TABLE, [ROWS], [[0]], "total", 1e-5, 500, 3), pt.InvalidOptionError, "verbose must be 0, 1 or 2"),
    ],
)
def test_ipfn__refuses(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ipfn.ipfn(*arguments).iteration()


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of ipfn itself
def test_iteration__takes_any_name_of_the_column_of_weights_as_ipfn_does():
    frame = pd.DataFrame({"a": list("xxyy"), "b": list("uvuv"), 0: [1.0, 2, 3, 4]})
    targets = [pd.Series({"x": 4.0, "y": 6.0}), pd.Series({"u": 5.0, "v": 5.0})]
    found = ipfn.ipfn(frame, targets, [["a"], ["b"]], weight_col=0, convergence_rate=1e-9).iteration()
    theirs = pytest.importorskip("ipfn.ipfn").ipfn(
        frame.copy(), targets, [["a"], ["b"]], weight_col=0, convergence_rate=1e-9
    )
    assert found[0].to_numpy() == pytest.approx(theirs.iteration().sort_values(["a", "b"])[0].to_numpy(), rel=1e-6)
    assert frame[0].tolist() == [1, 2, 3, 4]


def test_iteration__the_trace_counts_from_0_as_that_of_ipfn():
    table, targets = drawn(6, (4, 4), [[0], [1]])
    *_, misses = ipfn.ipfn(table, targets, [[0], [1]], verbose=2).iteration()
    assert misses.index[0] == 0
