"""Hypothesis profiles, and where the shared material lies."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "fast", max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "many", max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

os.environ.setdefault("PURTENSOR_ENGINE", "compiled")  # what is kept in a cache must not decide what a test runs


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job of a script: tests raise and catch it
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where nothing is compiled, leave out what needs it, and let numpy warn: kernels divide as IEEE 754 says."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") == "0":
        return
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore::RuntimeWarning"))
        for marker in item.iter_markers("compiled"):
            item.add_marker(pytest.mark.skip(reason=marker.args[0]))


@pytest.fixture(autouse=True)
def _no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what only a power failure could show: waiting for the disk is most of the time of small runs on it."""
    monkeypatch.setattr("os.fsync", lambda _: None)


SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the benchmark problems and reference data that lies beside a checkout in CI."""
    if not SHARED.is_dir():
        pytest.skip(f"the shared data folder is not beside this checkout ({SHARED.name} is missing)")
    return SHARED
