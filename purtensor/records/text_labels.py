"""Cells of text as labels and numbers: one rule for every file of text.

A column is of booleans where every cell is `true` or `false`, of integers where every cell is a whole number (`2` and
`2.0` are one, `02` is text), of intervals where every cell is one, and of text else. A column of numbers that are not
whole has no categories: it is refused where it is to be counted. An empty or blank cell is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as arrow

from purtensor._typing import FloatArray, IntArray
from purtensor.errors import FileFormatError, InvalidTableError
from purtensor.tables.domain import join_some
from purtensor.tables.io.text_dialect import TextOptions, advise_option
from purtensor.tables.labels import ascending, recognise_labels

SPELLINGS: Mapping[str, str] = {
    **dict.fromkeys(
        ("NA", "<NA>", "N/A", "n/a", "#N/A", "#NA", "NaN", "nan", "NULL", "null", "None"), "R's and pandas'"
    ),
    "?": "the UCI repository's",
    ".": "SAS's and Stata's",
}
"""The spellings of missing values in files of other programs, and the programs."""

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"([+-]?\d+),(\d+)", re.ASCII)


def missing_among(texts: Sequence[str], options: TextOptions) -> list[bool]:
    """Return for each text whether it means a missing value."""
    given = {"", *(value.strip() for value in options.missing_values)}
    return [text.strip() in given for text in texts]


def find_spellings(texts: Sequence[str], options: TextOptions) -> dict[str, str]:
    """Return the texts that other programs write for a missing value, and whose files have them."""
    decided = {value.strip() for value in (*options.missing_values, *options.not_missing)}
    return {text: SPELLINGS[text.strip()] for text in texts if text.strip() in SPELLINGS.keys() - decided}


def spellings_error(found: Sequence[tuple[str, str, int, int]], rows: int) -> InvalidTableError:
    """Return the refusal of such texts: of each its attribute, itself, how many rows have it, and the first of them."""
    told = [
        f"attribute {name!r} has {text!r} in {count} of {rows} rows (first in row {first})"
        for name, text, count, first in found
    ]
    typed = list(dict.fromkeys(text.strip() for _, text, _, _ in found))
    whose = join_some(list(dict.fromkeys(SPELLINGS[text] for text in typed)))
    hint = (
        f"give {advise_option(f'missing_values={typed}')} if that is a missing value (with missing='drop' or "
        f"missing='category'), or {advise_option(f'not_missing={typed}')} if it is a category"
    )
    return InvalidTableError(
        f"{join_some(told, 5)}, {whose} spelling of a missing value; rows are counted from 0; {hint}",
        code="spelled-missing",
        where=join_some(told, 5),
        got=typed,
        hint=hint,
    )


def labels_of(texts: Sequence[str], options: TextOptions) -> tuple[pd.Index[Any], IntArray]:
    """Return the labels that distinct texts mean, in ascending order, and the code of each text among them."""
    if options.decimal == ",":
        texts = [_DECIMAL_COMMA.sub(r"\1.\2", text) if _DECIMAL_COMMA.fullmatch(text) else text for text in texts]
    codes, distinct = pd.factorize(recognise_labels(list(texts)))  # 2 and 2.0 are one
    order = ascending(pd.Index(distinct))
    return pd.Index(distinct)[order], np.argsort(order)[codes]


def factor_texts(texts: Sequence[str], options: TextOptions) -> tuple[pd.Index[Any], IntArray]:
    """Return the labels that distinct texts mean, and the code of each text, -1 where it means a missing value.

    Of numbers that are not all whole the labels are float64.
    """
    # only distinct texts are looked at, however many rows there are
    absent = np.array(missing_among(texts, options), dtype=bool)
    present = [text for text, missing in zip(texts, absent, strict=True) if not missing]
    codes = np.full(len(texts), -1, dtype=np.int64)
    labels: pd.Index[Any] = pd.Index([], dtype=object)
    if _are_fractions(present, options):
        numbers = [float(with_point(text, options)) for text in present]
        distinct, codes[~absent] = np.unique(numbers, return_inverse=True)
        labels = pd.Index(distinct)
    elif present:
        labels, codes[~absent] = labels_of(present, options)
    return labels, codes


def _are_fractions(texts: Sequence[str], options: TextOptions) -> bool:
    """Return whether texts are numbers all, written as such, and not all whole."""
    texts = [with_point(text, options) for text in texts]
    if not texts or not all(_NUMBER.fullmatch(text.strip()) for text in texts):
        return False
    is_text = isinstance(recognise_labels(list(texts))[0], str) and not any(map(_is_padded, texts))
    return is_text and not all(float(text).is_integer() for text in texts)


def _is_padded(text: str) -> bool:
    """Return whether a number begins with zeros, as codes do: 007."""
    digits = text.strip().lstrip("+-")
    return len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()


def text_frame(table: pa.Table, options: TextOptions, counted: Sequence[str]) -> pd.DataFrame:
    """Return columns of text as labels; numbers that are not all whole as float64.

    Raises
    ------
    InvalidTableError
        A cell of the columns `counted` that other programs write for a missing value, of which nothing was said.
    """
    columns = {name: _encode(table.column(name)) for name in table.column_names}
    found = [
        (name, text, int((codes == texts.index(text)).sum()), int(np.argmax(codes == texts.index(text))))
        for name, (texts, codes) in columns.items()
        if name in counted
        for text in find_spellings(texts, options)
    ]
    if found:
        raise spellings_error(found, table.num_rows)
    return pd.DataFrame({name: _text_column(texts, codes, options) for name, (texts, codes) in columns.items()})


def _encode(column: pa.ChunkedArray) -> tuple[list[str], IntArray]:
    """Return the distinct texts of a column, and which of them each row has; -1 where it has none."""
    unified = column.unify_dictionaries().combine_chunks()
    unified = unified.chunk(0) if isinstance(unified, pa.ChunkedArray) else unified
    return unified.dictionary.to_pylist(), np.asarray(arrow.fill_null(unified.indices, -1), dtype=np.int64)


def _text_column(texts: list[str], codes: IntArray, options: TextOptions) -> pd.Series[Any]:
    labels, own = factor_texts(texts, options)
    # code -1, an empty cell, reads the -1 at the end
    taken = np.append(own, -1)[codes]
    if not len(labels):
        return pd.Series(np.full(len(codes), None, dtype=object))
    if labels.dtype.kind == "f":
        return pd.Series(np.append(labels, np.nan)[taken])
    values: pd.Series[Any] = pd.Series(labels.take(np.maximum(taken, 0)))
    if not (taken < 0).any():
        return values
    # numpy's integers have no missing value, and its floats round beyond 2^53
    kind: Any = "Int64" if labels.dtype.kind in "iu" else object
    return values.astype(kind).mask(pd.Series(taken < 0), None)


def with_point(text: str, options: TextOptions) -> str:
    """Return a number as Python writes it."""
    return text.replace(",", ".") if options.decimal == "," else text


def comma_advice(text: str) -> str | None:
    """Return what to type where a text is a number with a decimal comma."""
    opened = advise_option("decimal=','")
    return f"give {opened} if the comma is a decimal separator" if _DECIMAL_COMMA.fullmatch(text) else None


def numbers_of(column: pa.Array, name: str, path: Path, row: int, options: TextOptions) -> FloatArray:
    """Return a column of text as numbers, to the last digit; `row` is where it begins.

    Raises
    ------
    FileFormatError
        A cell that is not a number, or a whole number that float64 does not hold.
    """
    if options.decimal == ",":
        column = arrow.replace_substring(column, ",", ".")
    try:
        numbers = np.asarray(column.cast(pa.float64()), dtype=np.float64)
    except pa.ArrowInvalid:
        raise _no_number(column, name, path, row) from None
    for k in np.flatnonzero(numbers >= 2.0**53).tolist():
        text = column[k].as_py().strip()
        if text.isdecimal() and int(text) != int(numbers[k]):
            raise FileFormatError(
                f"column {name!r} of {path.name} has {text} in row {row + k} (counted from 0), an integer that float64 "
                "cannot hold exactly",
                code="inexact-integer",
                where=str(path),
                got=text,
            )
    return numbers


def _no_number(column: pa.Array, name: str, path: Path, row: int) -> FileFormatError:
    for k, text in enumerate(column.to_pylist()):
        if not _NUMBER.fullmatch(text.strip()) and text.strip("+-").lower() not in ("nan", "inf", "infinity"):
            hint = comma_advice(text)
            return FileFormatError(
                f"weights must be numbers, but column {name!r} of {path.name} has {text!r} in row {row + k} (the first "
                f"row being 0){f'; {hint}' if hint else ''}",
                code="weights-no-numbers",
                where=str(path),
                expected="a number",
                got=text,
                hint=hint,
            )
    return FileFormatError(
        f"weights must be numbers, but column {name!r} of {path.name} has other cells", where=str(path)
    )
