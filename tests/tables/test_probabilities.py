from __future__ import annotations

import numpy as np
import pytest

from purtensor.tables.probabilities import are_probabilities, is_one


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
