"""Small random tables for the laws of sampling."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from purtensor.tables.coded import dense_table
from purtensor.tables.domain import Domain


@st.composite
def counts(draw, largest=9):
    """Return a dense table of counts over one to three attributes, with zeros, of positive total."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    domain = Domain(tuple("abc"[: len(sizes)]), tuple(pd.Index([f"{i}" for i in range(size)]) for size in sizes))
    cells = int(np.prod(sizes))
    values = draw(st.lists(st.integers(0, largest), min_size=cells, max_size=cells).filter(any))
    return dense_table(domain, np.array(values, dtype=float).reshape(sizes))
