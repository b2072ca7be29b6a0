"""Numbers become masses without a digit lost, or are refused by their position."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import pytest

from purtensor.errors import InvalidTableError
from purtensor.tables.masses import as_float64, as_masses


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
