from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import purtensor as pt
from purtensor.tables.coded import domain_of
from purtensor.tables.io.parquet import read_parquet, write_parquet

COUNTS = pt.tabulate(
    {"age": pd.cut(pd.Series([20, 40, 70]), [0, 30, 55, 90]), "sex": ["m", "f", "m"], "ok": [True] * 3}
)


def test_write_parquet__is_plain_columns_for_others(tmp_path):
    write_parquet(COUNTS, tmp_path / "x.parquet")
    frame = pl.read_parquet(tmp_path / "x.parquet")
    assert frame.columns == ["age", "sex", "ok", "count"]
    assert frame["age"].to_list() == ["(0, 30]", "(30, 55]", "(55, 90]"]
    assert frame["ok"].to_list() == [True] * 3
    assert frame["count"].to_list() == [1.0] * 3


def test_read_parquet__of_another_program(tmp_path):
    frame = pd.DataFrame(
        {"age": pd.Categorical(["old", "young"], ["young", "old", "never"]), "probability": [0.25, 0.75]}
    )
    frame.to_parquet(tmp_path / "x.parquet")
    table = read_parquet(tmp_path / "x.parquet")
    assert table.to_series().to_dict() == {("old",): 0.25, ("young",): 0.75}
    assert domain_of(table).categories[0].tolist()[:2] == ["young", "old"]


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ({"age": [1, 2]}, "one column must be called count, probability, value.*it has age"),
        ({"age": [1, 2], "count": [1, 1], "value": [1, 1]}, "one column must be called"),
        ({"age": [1, 1], "count": [1, 1]}, "row 2 repeats a profile"),
        ({"age": [1, None], "count": [1, 1]}, "row 2 has no age"),
        ({"age": [1, 2], "count": [1, -1]}, "row 2 of column 'count' has -1.0; masses must be finite and not negative"),
        ({"age": [1, 2], "count": [1, 2**53 + 1]}, f"row 2 of column 'count' has {2**53 + 1}, an integer that float64"),
        ({"age": [1, 2], "value": [-(2**53) - 1, 1]}, f"row 1 of column 'value' has -{2**53 + 1}, an integer"),
        ({"age": [1, 2], "count": [Decimal(1), Decimal(2**53 + 1)]}, f"row 2 of column 'count' has {2**53 + 1}, an"),
        ({"age": [1.5, 2], "count": [1, 1]}, "bins="),
        ({"profile": [1, 2], "count": [1, 1]}, "'profile' is the dimension"),
    ],
    ids=str,
)
def test_read_parquet__says_what_is_wrong(tmp_path, columns, what):
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    with pytest.raises(pt.errors.FileFormatError, match=f"x.parquet cannot be read as a table: .*{what}"):
        read_parquet(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    "values",
    [[2**60, 2**53 + 2], [Decimal(2**60), Decimal("0.1")], pa.array([1, 2**63], type=pa.uint64()), [1.5, 2.5e300]],
    ids=str,
)
def test_read_parquet__of_another_program__values_that_float64_holds(tmp_path, values):
    pq.write_table(pa.table({"age": [1, 2], "count": values}), tmp_path / "x.parquet")
    wanted = [float(value) for value in (values.to_pylist() if isinstance(values, pa.Array) else values)]
    assert read_parquet(tmp_path / "x.parquet").values.tolist() == wanted


def test_read_parquet__of_another_program__values_that_are_no_masses(tmp_path):
    pq.write_table(pa.table({"age": [1, 2], "value": [-1.5, np.nan]}), tmp_path / "x.parquet")
    np.testing.assert_array_equal(read_parquet(tmp_path / "x.parquet").values, [-1.5, np.nan])


def test_read_parquet__changed_values_and_labels(tmp_path):
    path = tmp_path / "x.parquet"
    write_parquet(COUNTS, path)
    stored = pq.read_table(path)
    changed = stored.set_column(3, "count", pa.array([1.0, 1.0, 1.5]))
    pq.write_table(changed, path)
    with pytest.raises(pt.errors.FileFormatError, match="does not match its hash"):
        read_parquet(path)
    pq.write_table(stored.set_column(1, "sex", pa.array(["m", "f", "x"])), path)
    with pytest.raises(
        pt.errors.FileFormatError, match="attribute 'sex' has a label that its list of labels does not have"
    ):
        read_parquet(path)
    pq.write_table(stored.replace_schema_metadata({b"purtensqr": stored.schema.metadata[b"purtensor"]}), path)
    with pytest.raises(pt.errors.FileFormatError, match="it is damaged: its metadata"):
        read_parquet(path)
    metadata = {
        b"purtensor": stored.schema.metadata[b"purtensor"].replace(b'"format_version": 1', b'"format_version": 9')
    }
    pq.write_table(stored.replace_schema_metadata(metadata), path)
    with pytest.raises(pt.errors.FileFormatError, match="format version 9"):
        read_parquet(path)


def test_write_parquet__refuses_an_attribute_called_like_the_values(tmp_path):
    with pytest.raises(pt.InvalidTableError, match="cannot be called 'value', a name of the column of values"):
        write_parquet(pt.tabulate({"value": [1]}), tmp_path / "x.parquet")


def test_write_parquet__equal_tables_give_equal_tables(tmp_path):
    write_parquet(pt.to_dense(COUNTS), tmp_path / "x.parquet")
    found = read_parquet(tmp_path / "x.parquet")
    assert found.dims == ("age", "sex", "ok")
    assert np.array_equal(found.values, pt.to_dense(COUNTS).values)


def test_read_parquet__columns_without_a_row(tmp_path):
    columns = {"y": pa.array([], pa.string()), "count": pa.array([], pa.int64())}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(pt.errors.FileFormatError, match="columns but no row"):
        pt.load(tmp_path / "t.parquet")
