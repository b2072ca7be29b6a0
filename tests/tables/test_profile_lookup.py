from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from purtensor.tables.profile_lookup import lookup

PROFILE = st.tuples(st.integers(0, 3), st.integers(0, 2))


@given(st.lists(PROFILE, min_size=1, unique=True), st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 3))))
def test_lookup__are_those_of_a_search(known: list[tuple[int, int]], wanted: list[tuple[int, int]]) -> None:
    old = [np.array(column) for column in zip(*known)]
    new = [np.array([profile[i] for profile in wanted], dtype=np.int64) for i in range(2)]
    expected = [known.index(profile) if profile in known else -1 for profile in wanted]
    assert lookup(old, new).tolist() == expected
