"""Lines that are made when they are read are those that were recorded."""

from __future__ import annotations

import math

import pytest

from purtensor.solving.iterate import Record
from purtensor.solving.run_state import Lines, TraceLine


def record(number):
    return Record(number, 1.0 / number, 2.0 / number, 0.5, -1.0)


def test_lines__in_order_with_interpolated_times():
    lines = Lines(TraceLine(Record(0, 1.0, 2.0, 0.0, -2.0), 0, 0.0))
    lines.add_call([record(1), record(2), record(4)], done=10, begun=0.5, pace=0.25)
    lines.add(TraceLine(record(1), 20, 3.0))
    lines.add_call([], done=20, begun=3.0, pace=1.0)
    lines.add_call([record(3)], done=20, begun=4.0, pace=1.0)
    assert [line.iteration for line in lines] == [0, 11, 12, 14, 20, 23]
    assert [line.seconds for line in lines] == pytest.approx([0.0, 0.75, 1.0, 1.5, 3.0, 7.0])
    assert [line.record.residual for line in lines] == [1.0, 1.0, 0.5, 0.25, 1.0, 1.0 / 3.0]
    assert lines.last.iteration == 23


def test_lines__what_is_added_to_the_last_one_stays():
    lines = Lines(TraceLine(record(1), 0, 0.0))
    lines.add_call([record(1), record(2)], done=0, begun=0.0, pace=1.0)
    lines.last.tv_bound = 0.25
    lines.add(TraceLine(record(1), 3, 3.0))
    assert [line.tv_bound for line in lines][2] == 0.25
    assert sum(math.isnan(line.tv_bound) for line in lines) == 3
