from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from purtensor.tables.category_order import order_of_rows


@given(st.data(), st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_order_of_rows__finds_an_order_by_which_the_rows_are_sorted(data, sizes):
    rows = data.draw(st.lists(st.tuples(*(st.integers(0, k - 1) for k in sizes)), min_size=1, unique=True))
    hidden = [data.draw(st.permutations(range(k))) for k in sizes]
    rows.sort(key=lambda row: [order.index(code) for order, code in zip(hidden, row, strict=True)])
    codes = [np.array(column) for column in zip(*rows, strict=True)]
    found = [order.tolist() for order in order_of_rows(codes, sizes)]
    assert [sorted(order) for order in found] == [list(range(k)) for k in sizes]
    ranked = [[order.index(code) for order, code in zip(found, row, strict=True)] for row in rows]
    assert ranked == sorted(ranked)
    if len(rows) == np.prod(sizes):
        assert found == [list(order) for order in hidden]


@pytest.mark.parametrize(
    ("rows", "orders"),
    [
        ([(2, 0), (0, 0), (1, 0)], [[2, 0, 1], [0]]),
        ([(0, 0), (1, 0), (0, 1)], [[0, 1], [0, 1]]),  # not sorted: as they are
        ([(0, 1), (0, 0), (1, 0), (1, 1)], [[0, 1], [0, 1]]),  # sorted one way in 0, the other in 1
        ([(0, 0)], [[0], [0]]),
    ],
)
def test_order_of_rows__examples(rows, orders):
    codes = [np.array(column) for column in zip(*rows, strict=True)]
    found = order_of_rows(codes, [int(code.max()) + 1 for code in codes])
    assert [order.tolist() for order in found] == orders
