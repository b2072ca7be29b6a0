"""The peak of the resident memory, and a system that does not tell it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from purtensor.comparison.peak_memory import peak_of
from purtensor.tables.memory import PROC


@pytest.mark.skipif(not (PROC / "self" / "clear_refs").exists(), reason="the mark can be reset on Linux only")
def test_peak_of__sees_what_was_freed_again() -> None:
    result, peak = peak_of(lambda: float(np.ones(2**23).sum()))
    assert result == 2**23
    assert 0.9 * 2**26 < peak < 2**27


def test_peak_of__where_nothing_is_told(tmp_path: Path) -> None:
    result, peak = peak_of(lambda: 3, proc=tmp_path)
    assert result == 3
    assert math.isnan(peak)
