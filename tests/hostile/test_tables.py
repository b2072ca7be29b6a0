"""Functions x faults: what is no table is refused by name; what only looks odd gives the answer of the plain one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import settings

import purtensor as pt
from tests.hostile.callables import LAYOUTS_ONLY, OF_A_TABLE, plain, sparse


def with_value(value):
    table = plain()
    table[1, 0, 2] = value
    return table


def integers(value):
    table = plain().astype(np.int64)
    table[1, 0, 2] = value
    return table


def stacked():
    return pt.to_sparse(plain())


def without_label():
    index = stacked().indexes["profile"].set_codes([[-1, *[0] * 11]], level=["y"], verify_integrity=False)
    coords = xr.Coordinates.from_pandas_multiindex(index, "profile")
    return xr.DataArray(np.arange(1.0, 13.0), coords=coords, dims="profile")


def extended(value):
    """A table of more digits and a wider range than float64; where there is no such type, one that says so."""
    if np.finfo(np.longdouble).max == np.finfo(np.float64).max:
        pytest.skip("this machine has no floats beyond 64 bits")
    table = plain().astype(np.longdouble)
    table[1, 0, 2] = np.longdouble(value)
    return table


# the fault, and what the message must name
FAULTS = {
    "not a number": (lambda: with_value(np.nan), "y=yes, s=f, x=c.*nan"),
    "infinite": (lambda: with_value(np.inf), "y=yes, s=f, x=c.*inf"),
    "minus infinite": (lambda: with_value(-np.inf), "y=yes, s=f, x=c.*-inf"),
    "negative": (lambda: with_value(-1.0), "y=yes, s=f, x=c.*-1.0"),
    "negative by rounding": (lambda: with_value(-1e-300), "y=yes, s=f, x=c.*-1e-300"),
    "negative integer": (lambda: integers(-2), "y=yes, s=f, x=c.*-2"),
    "integer that float64 cannot hold": (lambda: integers(2**53 + 1), "y=yes, s=f, x=c.*9007199254740993"),
    "extended precision beyond float64": (lambda: extended("1e400"), r"y=yes, s=f, x=c.*1e\+400"),
    "extended precision below float64": (lambda: extended("1e-400"), "y=yes, s=f, x=c.*1e-400"),
    "no mass": (lambda: plain() * 0, "empty"),
    "total beyond float64": (lambda: plain() * 1e307, "total mass"),
    "objects": (lambda: plain().astype(object), "object"),
    "text": (lambda: plain().astype(str), "<U|str"),
    "complex": (lambda: plain().astype(complex), "complex"),
    "times": (lambda: plain().astype("datetime64[ns]"), "datetime64"),
    "a dataset": (lambda: plain().to_dataset(name="count"), "Dataset"),
    "a data frame": (lambda: plain().to_series().reset_index(name="count"), "DataFrame"),
    "a series": (lambda: plain().to_series(), "Series"),
    "an array": (lambda: plain().values, "ndarray"),
    "None": (lambda: None, "NoneType"),
    "no attribute": (lambda: plain().sum(), "at least one attribute"),
    "attribute without labels": (lambda: plain().drop_vars("x"), "'x'"),
    "category twice": (lambda: plain(x=["a", "b", "a"]), "'a'"),
    "missing category": (lambda: plain(x=["a", None, "c"]), "'x'"),
    "category NaN": (lambda: plain(x=[1.0, np.nan, 2.0]), "'x'"),
    "attribute called profile": (lambda: plain().rename(x="profile"), "'profile'"),
    "attribute without name": (lambda: plain().rename(x=""), "''"),
    "profile twice": (lambda: sparse([("no", "f", "a")] * 2, [1.0, 2.0], ["y", "s", "x"]), "y=no, s=f, x=a"),
    "label missing in a profile": (without_label, "'y'"),
    "labels of a MultiIndex": (
        lambda: plain().assign_coords(
            xr.Coordinates.from_pandas_multiindex(pd.MultiIndex.from_tuples([(1, 1), (1, 2), (2, 1)]), "x")
        ),
        "'x'",
    ),
}
ABOUT_MASSES = {
    "not a number",
    "infinite",
    "minus infinite",
    "negative",
    "negative by rounding",
    "negative integer",
    "integer that float64 cannot hold",
    "no mass",
    "total beyond float64",
    "objects",
    "text",
    "complex",
    "times",
    "extended precision beyond float64",
    "extended precision below float64",
}
OF_LAYOUTS_TOO = {
    "integer that float64 cannot hold",
    "objects",
    "text",
    "complex",
    "times",
    "extended precision beyond float64",
    "extended precision below float64",
}


def crossed(functions, others, every):
    """All pairs in the thorough profile; else every function with some of the others, and every other with some."""
    step = 1 if settings.get_current_profile_name() == "thorough" else every
    return [(one, other) for i, one in enumerate(functions) for j, other in enumerate(others) if (i + j) % step == 0]


# counts of nobody are no records: the one fault that is none for one function
PAIRS = [pair for pair in crossed(OF_A_TABLE, FAULTS, 2) if pair != ("to_records", "no mass")]
PAIRS += [(function, fault) for function in LAYOUTS_ONLY for fault in FAULTS if fault not in ABOUT_MASSES]
PAIRS += [("to_sparse", fault) for fault in FAULTS if fault in OF_LAYOUTS_TOO]


@pytest.mark.parametrize(("function", "fault"), PAIRS, ids=[f"{name}: {fault}" for name, fault in PAIRS])
def test_tables__faults_are_refused_by_name(function, fault):
    make, culprit = FAULTS[fault]
    with pytest.raises(pt.InvalidTableError, match=culprit):
        (OF_A_TABLE | LAYOUTS_ONLY)[function](make())


def read_only():
    table = plain()
    table.values.flags.writeable = False
    return table


def unsorted():
    table = stacked()
    return table.isel(profile=[5, 11, 0, 3, 2, 8, 1, 7, 10, 4, 9, 6])


def unused_categories():
    dense = plain().reindex(x=["z", "a", "b", "c"], fill_value=0.0)
    return pt.to_sparse(dense)


def categorical():
    return plain().assign_coords(x=pd.CategoricalIndex(["a", "b", "c"], categories=["c", "b", "a", "q"]))


ODDITIES = {
    "sparse": stacked,
    "single precision": lambda: plain().astype(np.float32),
    "integers": lambda: plain().astype(np.int64),
    "unsigned bytes": lambda: plain().astype(np.uint8),
    "big-endian": lambda: plain().astype(">f8"),
    "read-only": read_only,
    "not contiguous": lambda: plain()[:, :, ::-1],
    "in Fortran's order": lambda: plain().copy(data=np.asfortranarray(plain().values)),
    "attributes in another order": lambda: plain().transpose("x", "y", "s"),
    "profiles in any order": unsorted,
    "zeros stored": lambda: pt.to_sparse(plain().reindex(x=["a", "b", "c", "d"], fill_value=0.0), keep_zeros=True),
    "unused categories": unused_categories,
    "categorical labels": categorical,
    "another coordinate beside": lambda: plain().assign_coords(note=("x", [1, 2, 3])),
    "attributes and a name": lambda: plain().rename("count").assign_attrs(unit="people"),
}


def shown(answer):
    """An answer as numbers by label, whatever the layout and the order."""
    if isinstance(answer, xr.DataArray):
        table = pt.to_sparse(answer)
        names = sorted(table.indexes["profile"].names)
        series = table.to_series().reorder_levels(names) if len(names) > 1 else table.to_series()
        return {label: value for label, value in sorted(series.to_dict().items(), key=str) if value != 0}
    return sorted(np.ravel(answer).tolist()) if isinstance(answer, np.ndarray) else answer


@cache
def expected_of(function):
    return shown(OF_A_TABLE[function](plain()))


DRAWN = {"sample", "sample_without_replacement", "round_counts"}
"""What is drawn follows the order of the profiles: only the total is the same."""

WELL = crossed(OF_A_TABLE, ODDITIES, 4)


@pytest.mark.parametrize(("function", "oddity"), WELL, ids=[f"{name}: {oddity}" for name, oddity in WELL])
def test_tables__oddities_give_the_answer_of_the_plain_table(function, oddity):
    expected, answer = expected_of(function), shown(OF_A_TABLE[function](ODDITIES[oddity]()))
    if function in DRAWN:
        expected, answer = sum(expected.values()), sum(answer.values())
    judged = isinstance(expected, str) or expected is None
    assert answer == (expected if judged else pytest.approx(expected, rel=1e-9, abs=1e-12))


@pytest.mark.parametrize(
    "values",
    [np.array([2**53 + 1, 1]), np.array(["1", "2"]), np.array([1j, 2]), np.array([1, 2], dtype="m8[s]")],
    ids=["integer that float64 cannot hold", "text", "complex", "durations"],
)
def test_to_dense__values_that_are_no_float64_are_refused(values):
    stored = sparse([("no",), ("yes",)], values, ["y"])
    with pytest.raises(pt.InvalidTableError, match=r"integers or floats|y=no\) has 9007199254740993"):
        pt.to_dense(stored)


@pytest.mark.parametrize("ending", ["nc", "parquet", "csv"])
@pytest.mark.parametrize("kind", ["f2", "f4", ">f8", ">i4", "u1", "longdouble"])
def test_save__values_of_every_type_come_back_or_are_refused(kind, ending, tmp_path):
    table = plain().astype(kind)
    if kind == "longdouble" and table.dtype != np.float64:
        with pytest.raises(pt.InvalidTableError, match=r"float128.*float64 with astype"):
            pt.save(table, tmp_path / f"t.{ending}")
        return
    pt.save(table, tmp_path / f"t.{ending}")
    assert shown(pt.load(tmp_path / f"t.{ending}")) == shown(plain())


def test_save__a_name_too_long_for_netcdf(tmp_path):
    with pytest.raises(pt.InvalidTableError, match=r"'é{40}'\.\.\. is longer than the 256 bytes that NetCDF allows"):
        pt.save(plain().rename(x="é" * 200), tmp_path / "t.nc")
    assert list(tmp_path.iterdir()) == []


def test_save__a_name_that_parquet_has_for_the_values(tmp_path):
    with pytest.raises(
        pt.InvalidTableError, match=r"'value', a name of the column of values; rename it, or save as Net"
    ):
        pt.save(plain().rename(x="value"), tmp_path / "t.parquet")


@pytest.mark.parametrize("potential", [np.nan, np.inf, "1", 1j, None], ids=repr)
def test_project__starts_that_are_no_potentials_are_refused(potential):
    constraints = pt.marginals_of(plain() ** 2, "y")
    start = xr.DataArray([0.0, 0.0], coords={"y": ["no", "yes"]}, dims="y").astype(object)
    start[1] = potential
    start = start.astype(float) if isinstance(potential, float) else start.astype(type(potential))
    with pytest.raises(pt.InvalidOptionError, match="start"):
        pt.project(plain(), constraints, start=[start])
