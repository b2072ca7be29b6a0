"""What `purtensor info` tells."""

from __future__ import annotations

import platform
from importlib import metadata

import pytest

from purtensor.cli.info import embedded_data, machine, versions
from purtensor.cli.main import main


def test_info__prints_versions_machine_and_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    for text in (platform.python_version(), metadata.version("numpy"), "threads", "kernel cache", "available"):
        assert text in printed


def test_versions__tells_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("purtensor.cli.info.OPTIONAL", ("no-such-package",))
    assert versions()["no-such-package"] == "not installed"
    assert versions()["numba"] == metadata.version("numba")


def test_machine__counts_the_threads_it_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 2, 5}, raising=False)
    assert machine()["threads"].startswith("3 usable of ")


def test_embedded_data__lists_the_adult_counts() -> None:
    assert embedded_data()["adult_counts_with_relationship.csv.gz"].endswith("KiB")
