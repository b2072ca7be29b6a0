"""What goes in as records and as tables, and in which form rows and weights come back: the table of the reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sparse
from scipy.sparse import coo_array

import purtensor as pt

PAGE = Path(__file__).parent.parent.parent / "notes" / "reference" / "tables.md"
PEOPLE = pd.DataFrame({"sex": ["f", "m", "m", "f", "m"], "age": ["old", "old", "young", "old", "old"]})
COUNTS = PEOPLE.value_counts().rename("count").reset_index()
CELLS = pd.crosstab(PEOPLE["sex"], PEOPLE["age"])
NAMES = {"sex": ["f", "m"], "age": ["old", "young"]}


def written(folder: Path) -> str:
    PEOPLE.to_csv(folder / "people.csv", index=False)
    return str(folder / "people.csv")


def stored(folder: Path) -> Any:
    return pt.store_table(pt.tabulate(PEOPLE), folder / "counts.zarr")


KINDS: dict[str, tuple[Callable[[Path], Any] | None, Callable[[Path], Any] | None]] = {
    "`DataFrame` of pandas": (lambda _: PEOPLE, lambda _: COUNTS),
    "`DataFrame` of polars": (lambda _: pl.from_pandas(PEOPLE), lambda _: pl.from_pandas(COUNTS)),
    "`LazyFrame` of polars": (lambda _: pl.from_pandas(PEOPLE).lazy(), lambda _: pl.from_pandas(COUNTS).lazy()),
    "`Table` of pyarrow": (lambda _: pa.Table.from_pandas(PEOPLE), lambda _: pa.Table.from_pandas(COUNTS)),
    "`RecordBatch` of pyarrow": (
        lambda _: pa.RecordBatch.from_pandas(PEOPLE),
        lambda _: pa.RecordBatch.from_pandas(COUNTS),
    ),
    "relation of DuckDB": (lambda _: duckdb.sql("from PEOPLE"), lambda _: duckdb.sql("from COUNTS")),
    "dict of columns, or of totals": (
        lambda _: PEOPLE.to_dict("list"),
        lambda _: PEOPLE.value_counts().to_dict(),
    ),
    "path, or `open_records`": (written, None),
    "`Series` of pandas": (None, lambda _: PEOPLE.value_counts()),
    "crosstab of pandas": (None, lambda _: CELLS),
    "`ndarray` of numpy": (None, lambda _: CELLS.to_numpy()),
    "array of scipy.sparse": (None, lambda _: coo_array(CELLS.to_numpy())),
    "array of pydata/sparse": (None, lambda _: sparse.COO.from_numpy(CELLS.to_numpy())),
    "`DataArray` of xarray": (None, lambda _: pt.tabulate(PEOPLE)),
    "`StoredTable`": (None, stored),
}


def name_of(value: Any) -> str:
    kind = type(value)
    return f"`{kind.__module__.partition('.')[0].lstrip('_')}.{kind.__name__}`"


def rows_of_page() -> dict[str, list[str]]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "---" not in line]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in cells[1:]}


def outcome(call: Callable[[], Any]) -> str:
    try:
        return name_of(call())
    except (pt.PurtensorError, TypeError):
        return "refused"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::purtensor.errors.SuspiciousColumnWarning")
def test_kind__goes_in_and_comes_out_as_the_page_says(kind: str, tmp_path: Path) -> None:
    records, table = KINDS[kind]
    expected = pt.tabulate(PEOPLE).to_series().to_dict()
    counted = made = rows = weights = "no"
    if records is not None:
        counts = pt.tabulate(records(tmp_path))
        assert counts.to_series().to_dict() == expected
        counted = "yes"
        weights = outcome(lambda: pt.weights(records(tmp_path), counts))
        rows = outcome(lambda: pt.to_records(counts, like=records(tmp_path)))
    if table is not None:
        names = NAMES if "array" in kind.lower() and "DataArray" not in kind else None
        names = ["sex", "age"] if kind.startswith("dict") else names
        given = table(tmp_path)
        found = pt.as_table(given, names) if names else pt.as_table(given)
        whole = found.to_table() if isinstance(found, pt.results.StoredTable) else found
        if whole.dims == ("profile",):
            cells = whole.to_series().to_dict()
        else:
            cells = {key: value for key, value in whole.to_series().to_dict().items() if value}
        assert cells == expected
        made = "as it is" if found is given else "sparse" if whole.dims == ("profile",) else "dense"
    assert rows_of_page()[kind] == [counted, made, rows, weights]


def test_page__lists_every_kind() -> None:
    assert list(rows_of_page()) == list(KINDS)
    assert sum(counted == "yes" for counted, *_ in rows_of_page().values()) == 8
