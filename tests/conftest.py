"""Hypothesis profiles, and where the shared material lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("fast", max_examples=25, deadline=None, derandomize=True,
                          suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
settings.register_profile("thorough", max_examples=3000, deadline=None,
                          suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the benchmark problems and reference data that lies beside a checkout in CI."""
    if not SHARED.is_dir():
        pytest.skip(f"the shared data folder is not beside this checkout ({SHARED.name} is missing)")
    return SHARED
