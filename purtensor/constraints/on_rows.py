"""Options that may differ from row to row: strengths, standard errors, widths of intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from purtensor._typing import FloatArray
from purtensor.constraints.labelled import Labelled, read_labelled
from purtensor.constraints.rows import RowBlock
from purtensor.errors import UnknownCategoryError
from purtensor.tables.coded import label_of


def numbers_on_rows(value: Any, block: RowBlock, what: str) -> FloatArray:
    """Return one number per row: the same for all, or by the labels of the rows.

    Raises
    ------
    InvalidTableError
        Neither, NaN, or over other attributes than the rows.
    UnknownCategoryError
        A row has no number.
    """
    count = len(block.labels)
    attributes = () if block.index is None else tuple(str(name) for name in block.index.names)
    read = read_labelled(value, attributes, what)
    if not isinstance(read, Labelled):
        return np.full(count, read)
    if block.index is None:
        raise UnknownCategoryError(f"{what} is by label, but the rows have no labels: give a number")
    known = {label_of(read.domain, codes): k for k, codes in enumerate(zip(*read.codes, strict=True))}
    labels = [tuple(label) for label in block.index]
    lost = [label for label in labels if label not in known]
    if lost:
        raise UnknownCategoryError(f"{what} has no number for the row ({', '.join(map(str, lost[0]))})")
    return np.array([read.values[known[label]] for label in labels])
