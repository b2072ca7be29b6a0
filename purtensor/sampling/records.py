"""From counts to individuals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import Table
from purtensor.records.frames import frame_like
from purtensor.sampling.checks import whole_counts
from purtensor.tables.coded import encode
from purtensor.tables.memory import require_memory


def to_records(counts: Table, like: Any = None) -> Any:
    """Return a data frame with one row for each individual that is counted, in the order of the profiles.

    Each attribute is a categorical column with the categories of the table in their order, also those that do not
    occur; `tabulate` gives the counts back.

    Parameters
    ----------
    like
        A frame, such as the one that was counted, in whose library the records come (of DuckDB in pyarrow's); pandas
        when None.

    Raises
    ------
    InvalidTableError
        A value that is not a whole number; the message names the profile.
    TooLargeError
        The frame would need more memory than there is.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "old"]})
    >>> pt.to_records(counts)
      sex  age
    0   f  old
    1   m  old
    2   m  old
    """
    coded = encode(counts, allow_empty=True)
    repeats = whole_counts(coded)
    rows = int(repeats.sum())
    # codes are signed in pandas, and these types hold -size
    smallest = [np.min_scalar_type(-max(size, 1)) for size in coded.domain.sizes]
    # the columns, and one more while it is made
    needed = rows * (sum(kind.itemsize for kind in smallest) + 8)
    require_memory(needed, f"a data frame of {rows} records", "draw fewer with purtensor.sample")
    columns = {
        name: pd.Categorical.from_codes(np.repeat(code.astype(kind), repeats), categories=categories)
        for name, code, kind, categories in zip(
            coded.domain.attributes, coded.codes, smallest, coded.domain.categories, strict=True
        )
    }
    return frame_like(pd.DataFrame(columns, copy=False), like)
