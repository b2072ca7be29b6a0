"""Category labels as text and numbers that a file can hold, and back with their types."""

from __future__ import annotations

import contextlib
import datetime
import heapq
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from purtensor._typing import IntArray
from purtensor.errors import InvalidTableError
from purtensor.tables.domain import is_boolean
from purtensor.tables.factorize import plain_index

_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][0-9]+)?|-?inf"
# 19 digits at most; whether they are beyond int64 is asked of the number
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_WHOLE = re.compile(rf"({_INTEGER.pattern})(?:\.0+)?")
_INTERVAL = re.compile(rf"(?P<open>[\[(])(?P<left>{_NUMBER}), (?P<right>{_NUMBER})(?P<close>[\])])")
_CLOSED = {("[", ")"): "left", ("(", "]"): "right", ("[", "]"): "both", ("(", ")"): "neither"}
_NATIVE = re.compile(r"u?int(8|16|32|64)|float(32|64)")
_TIMES = re.compile(r"(datetime|timedelta)64\[(s|ms|us|ns)\]")
_INTERVALS = re.compile(r"interval\[(int64|uint64|float64|datetime64\[(s|ms|us|ns)\]), (left|right|both|neither)\]")


MISSING_CATEGORY = "missing"
"""The label of missing values that are counted as a category."""


def label_text(label: Any) -> str:
    """Return the text of a label in files: true, 17, [30, 55), 2020-02-29T00:00:00."""
    if isinstance(label, str):
        return str(label)
    if is_boolean(label):
        return "true" if label else "false"
    if isinstance(label, pd.Interval):
        opening = "[" if label.closed in ("left", "both") else "("
        closing = "]" if label.closed in ("right", "both") else ")"
        return f"{opening}{label_text(label.left)}, {label_text(label.right)}{closing}"
    if isinstance(label, datetime.date):
        return label.isoformat()
    if isinstance(label, int | np.integer):
        return str(int(label))
    if isinstance(label, float | np.floating):
        return repr(float(label))
    raise InvalidTableError(
        f"the label {label!r} is a {type(label).__qualname__}, which cannot be saved; convert it to text"
    )


def encode_labels(categories: pd.Index[Any]) -> tuple[npt.NDArray[Any], str]:
    """Return labels as an array of numbers or text, and their kind, by which `decode_labels` brings them back.

    Raises
    ------
    InvalidTableError
        A label of a type that no file holds, or text with a null character or half a surrogate pair.
    """
    if isinstance(categories, pd.CategoricalIndex) or not isinstance(categories.dtype, np.dtype | pd.IntervalDtype):
        categories = plain_index(categories.tolist())
    kind = str(categories.dtype)
    if _NATIVE.fullmatch(kind):
        return categories.to_numpy(), kind
    if _TIMES.fullmatch(kind):
        moments = categories.to_numpy()
        return (_texts(np.datetime_as_string(moments)) if moments.dtype.kind == "M" else moments.astype("int64")), kind
    labels = categories.tolist()
    if _INTERVALS.fullmatch(kind):
        return _texts(map(label_text, labels)), kind
    if all(map(is_boolean, labels)) and labels:
        return _texts(map(label_text, labels)), "boolean"
    if all(isinstance(label, str) for label in labels):
        return _texts(labels), "string"
    return _texts(json.dumps(_tag(label)) for label in labels), "mixed"


def decode_labels(labels: Any, kind: str) -> pd.Index[Any]:
    """Return the labels that `encode_labels` wrote, out of an array or a list.

    Raises
    ------
    ValueError
        They are not labels of that kind.
    """
    parts = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if _NATIVE.fullmatch(kind):
        native: pd.Index[Any] = pd.Index(np.array(parts, dtype=kind))
        return native
    if _TIMES.fullmatch(kind):
        moments = np.array(parts, dtype=kind if kind[0] == "d" else "int64").view(kind)
        return pd.DatetimeIndex(moments) if kind[0] == "d" else pd.TimedeltaIndex(moments)
    texts = [str(text) for text in parts]
    if _INTERVALS.fullmatch(kind):
        return _intervals(texts, *re.fullmatch(r"interval\[(.*), (.*)\]", kind).groups())  # type: ignore[union-attr]
    if kind == "boolean":
        if not set(texts) <= {"true", "false"}:
            raise ValueError(f"labels {texts} are no booleans")
        return pd.Index([text == "true" for text in texts])
    if kind == "mixed":
        mixed: pd.Index[Any] = pd.Index([_untag(json.loads(text)) for text in texts], dtype=object)
        return mixed
    if kind != "string":
        raise ValueError(f"labels of the unknown kind {kind!r}")
    return plain_index(texts)


def recognise_labels(texts: list[str]) -> pd.Index[Any]:
    """Return the labels that a plain text file means: integers, booleans or intervals where all texts are, else text.

    Integers may have zeros behind a point, as other programs write them: 2.0 is 2; 007 is text. Intervals must be
    written as `label_text` writes them. Beside labels of these types `missing` stays the category of missing values.
    """
    if MISSING_CATEGORY in texts and len(texts) > 1:
        others = recognise_labels([text for text in texts if text != MISSING_CATEGORY]).tolist()
        if not isinstance(others[0], str):
            typed = iter(others)
            return pd.Index([text if text == MISSING_CATEGORY else next(typed) for text in texts], dtype=object)
        return plain_index(texts)
    if all(text in ("true", "false") for text in texts):
        return pd.Index([text == "true" for text in texts])
    # -0 is text: as an integer it would come back as 0
    whole = [match[1] for text in texts if (match := _WHOLE.fullmatch(text)) and match[1] != "-0"]
    if len(whole) == len(texts) and all(-(2**63) <= int(text) < 2**63 for text in whole):
        return pd.Index([int(text) for text in whole])
    matches = [match for text in texts if (match := _INTERVAL.fullmatch(text))]
    sides = {_CLOSED[match["open"], match["close"]] for match in matches}
    if len(matches) == len(texts) and len(sides) == 1:
        bounds = [bound for match in matches for bound in (match["left"], match["right"])]
        is_whole = all(_INTEGER.fullmatch(bound) for bound in bounds)
        # label_text writes all bounds of a column in one form: a mixture is of another origin, and text
        if is_whole or not any(_INTEGER.fullmatch(bound) for bound in bounds):
            with contextlib.suppress(ValueError, OverflowError):  # (30, 0] is text
                return _intervals(texts, "int64" if is_whole else "float64", sides.pop())
    return plain_index(texts)


def ascending(labels: pd.Index[Any]) -> IntArray:
    """Return the places of labels in ascending order; of several types only `missing` may be, which is last."""
    if labels.dtype != object or all(isinstance(label, str) for label in labels):
        return np.asarray(labels.argsort(), dtype=np.int64)
    # False sorts before True, and so typed labels before the text 'missing'
    return np.array(sorted(range(len(labels)), key=lambda k: (isinstance(labels[k], str), labels[k])), dtype=np.int64)


def _intervals(texts: list[str], subtype: str, closed: Any) -> pd.IntervalIndex[Any]:
    bounds = [text[1:-1].split(", ") for text in texts]
    left, right = (np.array([pair[side] for pair in bounds], dtype=str).astype(subtype) for side in (0, 1))
    return pd.IntervalIndex.from_arrays(left, right, closed=closed)


def _texts(texts: Any) -> npt.NDArray[Any]:
    labels = list(texts)
    for text in labels:
        check_text(text, "the label")
    if not labels:
        return np.empty(0, dtype="U1")  # of objects, of which there are none, xarray would make numbers
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def check_text(text: str, what: str) -> None:
    """Refuse text that files cannot hold: with a null character, or half a surrogate pair."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidTableError(f"{what} {text!r} has a character that cannot be saved; replace it")


def _tag(label: Any) -> Any:
    """Return a label as what JSON has, and objects with one key for what it has not."""
    if isinstance(label, pd.Interval):
        return {"interval": [_tag(label.left), _tag(label.right), label.closed]}
    if isinstance(label, pd.Timestamp | datetime.datetime):
        return {"datetime": label.isoformat()}
    label_text(label)  # refuses what is none of the types below
    return label.item() if isinstance(label, np.generic) else label


def _untag(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "interval" in value:
        left, right, closed = value["interval"]
        return pd.Interval(_untag(left), _untag(right), closed)
    return pd.Timestamp(value["datetime"])


def order_of_rows(codes: Sequence[IntArray], sizes: Sequence[int]) -> list[IntArray]:
    """Return for each attribute its category codes in the order by which the rows are sorted, if they are.

    Rows in lexicographic order say of neighbours that agree in the attributes before which category comes first. Where
    they leave it open, and for an attribute by which the rows are not sorted, the order of the codes decides.
    """
    equal = np.ones(max(len(codes[0]) - 1, 0), dtype=bool)
    orders = []
    for column, size in zip(codes, sizes, strict=True):
        differs = column[1:] != column[:-1]
        here = np.flatnonzero(equal & differs)
        # each pair (from, to) as one number
        steps = np.unique(column[:-1][here] * size + column[1:][here])
        orders.append(_merge(np.stack(np.divmod(steps, size)), size))
        equal &= ~differs
    return orders


def _merge(steps: IntArray, size: int) -> IntArray:
    """Return the codes 0 .. size - 1 in an order consistent with all steps (from, to), else unchanged."""
    after: list[list[int]] = [[] for _ in range(size)]
    waits = [0] * size
    for before, later in steps.T.tolist():
        after[before].append(later)
        waits[later] += 1
    # Kahn's topological sort; of the codes that may come next the heap gives the smallest
    ready = [code for code in range(size) if waits[code] == 0]
    order = []
    while ready:
        code = heapq.heappop(ready)
        order.append(code)
        for later in after[code]:
            waits[later] -= 1
            if waits[later] == 0:
                heapq.heappush(ready, later)
    # a cycle leaves codes waiting: the rows are not sorted by this attribute
    return np.array(order if len(order) == size else range(size), dtype=np.int64)
