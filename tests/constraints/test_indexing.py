from __future__ import annotations

import numpy as np
import pytest

from purtensor.constraints import indexing
from purtensor.kernels import codes as kernels
from tests.kernels.drawn import plain

RNG = np.random.default_rng(0)
TYPES = [np.uint8, np.uint16, np.int32, np.int64]


@pytest.fixture(params=["short", "long"])
def length(request, monkeypatch):
    """Both ways are tried on the same arrays."""
    monkeypatch.setattr(indexing, "LONG", 0 if request.param == "long" else 10**9)


def codes(kind, count=50, size=1000):
    return RNG.integers(0, count, size).astype(kind)


@pytest.mark.usefixtures("length")
@pytest.mark.parametrize("kind", TYPES)
def test_append_codes__keys_in_mixed_radix(kind):
    first, second = codes(np.int8, 5), codes(np.int16, 40)
    keys = np.zeros(1000, dtype=kind)
    indexing.append_codes(keys, first, 5)
    indexing.append_codes(keys, second, 40)
    assert keys.dtype == kind
    assert keys.tolist() == [40 * int(a) + int(b) for a, b in zip(first, second)]


@pytest.mark.usefixtures("length")
@pytest.mark.parametrize("kind", TYPES)
def test_mark__every_code_that_occurs_and_no_other(kind):
    given = codes(kind, 50, 60)
    marked = np.zeros(50, dtype=bool)
    indexing.mark(given, marked)
    assert set(np.flatnonzero(marked).tolist()) == set(given.tolist())


@pytest.mark.usefixtures("length")
@pytest.mark.parametrize("kind", TYPES)
def test_take__values_at_places_also_over_the_places(kind):
    places, values = codes(kind), RNG.permutation(50)
    expected = [values[place] for place in places.tolist()]
    out = np.empty(1000)
    indexing.take(values, places, out)
    assert out.tolist() == expected
    indexing.take(values, places, places)
    assert places.tolist() == expected


@pytest.mark.usefixtures("length")
@pytest.mark.parametrize("kind", TYPES)
def test_count_codes__how_often_each_occurs(kind):
    given = codes(kind, 40)
    assert indexing.count_codes(given, 50).tolist() == [given.tolist().count(code) for code in range(50)]


@pytest.mark.usefixtures("length")
@pytest.mark.parametrize("kind", TYPES)
def test_order_by_rank__sorts_and_keeps_equals_in_order(kind):
    given, rank = codes(kind), RNG.permutation(50)
    order = indexing.order_by_rank(given, rank, np.bincount(rank[given], minlength=50))
    assert order.tolist() == sorted(range(1000), key=lambda i: rank[given[i]])


@pytest.mark.usefixtures("length")
def test_order_by_rank__none_where_nothing_is_to_be_sorted():
    given, rank = np.repeat(np.arange(50), 3), np.arange(50)
    assert indexing.order_by_rank(given, rank, np.full(50, 3)) is None
    given[[0, -1]] = given[[-1, 0]]
    assert indexing.order_by_rank(given, rank, np.full(50, 3)) is not None


def test_kernels__as_plain_python():
    given, rank, out, keys = codes(np.uint8), RNG.permutation(50), np.empty(1000), np.zeros(1000, dtype=np.int64)
    plain(kernels.take)(rank, given, out)
    assert out.tolist() == rank[given].tolist()
    plain(kernels.append_codes)(keys, given, 50)
    assert keys.tolist() == given.tolist()
    marked = np.zeros(50, dtype=bool)
    plain(kernels.mark)(given, marked)
    assert marked.tolist() == (plain(kernels.count_codes)(given, 50) > 0).tolist()
    order, sizes = np.empty(1000, dtype=np.int32), np.bincount(rank[given], minlength=50)
    plain(kernels.order_by_rank)(given, rank, np.cumsum(sizes) - sizes, order)
    assert plain(kernels.is_ascending)(given[order], rank)
    assert not plain(kernels.is_ascending)(given, rank)


@pytest.mark.usefixtures("length")
@pytest.mark.parametrize(("kind", "size"), [(np.uint8, 256), (np.uint16, 65536)])
def test_append_codes__a_type_may_hold_every_key_and_not_the_size(kind, size):
    keys = np.zeros(size, dtype=kind)
    indexing.append_codes(keys, np.zeros(size, dtype=np.int8), 1)
    indexing.append_codes(keys, np.arange(size), size)
    assert keys.tolist() == list(range(size))
