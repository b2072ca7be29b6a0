"""What a time depends on is stated."""

from __future__ import annotations

import platform

import numpy as np

import purtensor as pt
from purtensor.comparison.machine import processor, surroundings


def test_surroundings__versions_of_what_is_there() -> None:
    found = surroundings(["numpy", "no-such-package-at-all"])
    assert found["processor"] == processor() != ""
    assert found["purtensor"] == pt.__version__
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert int(found["cores seen"]) >= 1
    assert "no-such-package-at-all" not in found
