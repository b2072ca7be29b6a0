"""Numbers become masses without a digit lost, or are refused by their position."""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.errors import InvalidTableError
from purtensor.tables.masses import are_probabilities, as_float64, as_masses, exact_sum, is_one


def fail(position: int, what: str) -> NoReturn:
    raise InvalidTableError(f"number {position} {what}")


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint64, np.float32, np.float64])
def test_as_masses__every_kind_of_number_comes_out_as_float64(kind: type) -> None:
    values = as_masses(np.array([1, 0, 1], dtype=kind), fail)
    assert values.dtype == np.float64
    assert values.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([1.0, -0.5], "number 1 has -0.5; masses must be finite and not negative"),
        ([np.nan, 1.0], "number 0 has nan; masses must be finite and not negative"),
        ([1.0, 2.0, np.inf], "number 2 has inf; masses must be finite and not negative"),
        ([0, 2**53 + 1], f"number 1 has {2**53 + 1}, an integer that float64 cannot represent exactly"),
        (["a"], "the values of a table must be integers or floats"),
    ],
)
def test_as_masses__refuses_what_is_no_mass(given: list[object], told: str) -> None:
    with pytest.raises(InvalidTableError, match=told):
        as_masses(np.array(given), fail)


def test_as_masses__of_an_integer_beyond_2_53_that_float64_holds() -> None:
    assert as_masses(np.array([2**60, 3]), fail).tolist() == [2.0**60, 3.0]


def test_as_float64__signs_stay() -> None:
    assert as_float64(np.array([-1.5, np.inf]), fail).tolist() == [-1.5, np.inf]


@pytest.mark.skipif(np.finfo(np.longdouble).maxexp <= 1024, reason="longdouble is float64 here")
def test_as_float64__refuses_what_only_more_digits_hold() -> None:
    with pytest.raises(InvalidTableError, match="number 1 has 1e\\+400, which is beyond the range of float64"):
        as_float64(np.array(["1", "1e400"], dtype=np.longdouble), fail)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.25, 0.75], True),
        ([0.3333333, 0.3333333, 0.3333333], True),  # seven digits
        ([0.3333, 0.3333, 0.3333], False),
        ([0.5, 0.500002], False),
        ([1.0, 0.0], False),  # one person
        ([2.0, 3.0], False),
        ([0.5, 1.5], False),
    ],
    ids=str,
)
def test_are_probabilities__total_one_and_not_all_whole(values: list[float], expected: bool) -> None:
    assert are_probabilities(np.array(values), sum(values)) is expected


@pytest.mark.parametrize(("total", "expected"), [(1.0, True), (1 + 9e-7, True), (1 - 9e-7, True), (1 + 2e-6, False)])
def test_is_one__to_a_millionth(total: float, expected: bool) -> None:
    assert is_one(total) is expected


def test_exact_sum__rounds_once_over_many_blocks() -> None:
    values = np.concatenate([[1e16], np.ones(200_000), [-1e16], [0.5]])
    assert values.sum() != 200_000.5
    assert exact_sum(values) == 200_000.5


@given(
    st.integers(0, 2**32 - 1), st.sampled_from([0, 3, 40, 300, 1000]), st.sampled_from([1, 513, 40_000]), st.booleans()
)
def test_exact_sum__is_that_of_fsum_whatever_the_range_of_the_numbers(
    seed: int, range_in_bits: int, count: int, signed: bool
) -> None:
    rng = np.random.default_rng(seed)
    values = np.ldexp(rng.random(count), rng.integers(-range_in_bits, 1, count))
    if signed:
        values *= rng.choice([-1.0, 1.0], count)
    values[rng.random(count) < 0.1] = 0.0
    assert exact_sum(values) == math.fsum(values.tolist())


@pytest.mark.parametrize("largest", [2.0**1001, 2.0**990, 5e-324, 2.0**-1060])
def test_exact_sum__at_the_ends_of_float64(largest: float) -> None:
    values = np.concatenate([np.full(3000, largest), np.full(3000, -largest), [largest, largest / 2]])
    assert exact_sum(values) == math.fsum(values.tolist())


def test_exact_sum__of_what_is_no_number() -> None:
    assert math.isnan(exact_sum(np.append(np.ones(1000), np.nan)))
    assert exact_sum(np.append(np.ones(1000), np.inf)) == math.inf


def test_exact_sum__of_zeros_and_of_nothing() -> None:
    assert exact_sum(np.zeros(2000)) == 0.0
    assert exact_sum(np.empty(0)) == 0.0
