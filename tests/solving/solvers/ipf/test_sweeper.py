"""Records that a kernel wrote, read one by one, all at once, and in parts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from purtensor.solving.iterate import Record
from purtensor.solving.solvers.ipf.sweeper import records_of


def test_records_of__are_shares_of_the_total_numbered_from_the_step_on():
    rows = np.array(
        [[11.0, 0.2, 0.4, 0.1, -3.0, 0.5], [12.0, 0.1, 0.3, 0.05, -2.0, 0.5], [14.0, 0.0, 0.1, 0.0, 1.0, 0.5]]
    )
    records = records_of(SimpleNamespace(total=0.5), rows, 10)
    expected = [Record(1, 0.4, 0.8, 0.2, -3.0), Record(2, 0.2, 0.6, 0.1, -2.0), Record(4, 0.0, 0.2, 0.0, 1.0)]
    rows[:] = np.nan  # the kernel's room is used again
    assert list(records) == expected
    assert [records[n] for n in range(3)] == expected
    assert records[-1] == expected[-1]
    assert list(records[:-1]) == expected[:-1]
    assert (len(records), len(records[1:]), bool(records[3:])) == (3, 2, False)
