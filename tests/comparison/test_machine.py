"""What a time depends on is stated; the peak of the resident memory, and a system that does not report it."""

from __future__ import annotations

import math
import platform
from pathlib import Path

import numpy as np
import pytest

import purtensor as pt
from purtensor.comparison.machine import peak_of, processor, surroundings
from purtensor.tables.memory import PROC


def test_surroundings__versions_of_what_is_there() -> None:
    found = surroundings(["numpy", "no-such-package-at-all"])
    assert found["processor"] == processor() != ""
    assert found["purtensor"] == pt.__version__
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert int(found["cores seen"]) >= 1
    assert "no-such-package-at-all" not in found


@pytest.mark.skipif(not (PROC / "self" / "clear_refs").exists(), reason="the mark can be reset on Linux only")
def test_peak_of__sees_what_was_freed_again() -> None:
    result, peak = peak_of(lambda: float(np.ones(2**23).sum()))
    assert result == 2**23
    assert 0.9 * 2**26 < peak < 2**27


def test_peak_of__where_nothing_is_told(tmp_path: Path) -> None:
    result, peak = peak_of(lambda: 3, proc=tmp_path)
    assert result == 3
    assert math.isnan(peak)
