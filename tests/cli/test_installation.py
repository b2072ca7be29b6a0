"""`purtensor info` and `warmup`: what a bug report should say, and nothing that is left to compile."""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numba
import pytest

from purtensor.cli.installation import describe_cache, describe_machine, list_embedded_data, list_versions
from purtensor.cli.main import main

COUNT_MISSES = """
import importlib, pkgutil
import purtensor as pt
import purtensor.kernels as kernels

for name in ("a", "b_lam0"):
    problem = pt.problems.load(name)
    for solver in (None, pt.Newton()):
        pt.project(problem.reference, problem.constraints, solver=solver, tolerance=1e-6)
f = pt.regularize(pt.tabulate({"y": [0, 1, 1], "s": [0, 0, 1], "x": [1, 2, 1]}), response="y", strength=1.0)
pt.round_counts(pt.project(f, pt.pur(f, response="y", protected="s")).table, 100, seed=1)
names = [module.name for module in pkgutil.walk_packages(kernels.__path__, "purtensor.kernels.")]
modules = [importlib.import_module(name) for name in names]
found = {id(thing): thing for module in modules for thing in vars(module).values() if hasattr(thing, "stats")}
hits = sum(sum(kernel.stats.cache_hits.values()) for kernel in found.values())
missed = [kernel.py_func.__name__ for kernel in found.values() if kernel.stats.cache_misses]
print(hits, missed)
"""


def test_info__prints_versions_machine_and_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    for text in (platform.python_version(), metadata.version("numpy"), "threads", "kernel cache", "available"):
        assert text in printed


def test_list_versions__names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("purtensor.cli.installation.OPTIONAL", ("no-such-package",))
    assert list_versions()["no-such-package"] == "not installed"
    assert list_versions()["numba"] == metadata.version("numba")


def test_describe_machine__counts_the_threads_it_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 2, 5}, raising=False)
    assert describe_machine()["threads"].startswith("3 usable of ")


def test_list_embedded_data__lists_the_adult_counts() -> None:
    assert list_embedded_data()["adult_counts_with_relationship.csv.gz"].endswith("KiB")


@pytest.mark.slow
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_warmup__leaves_nothing_to_compile(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup"]) == 0
    printed = capsys.readouterr().out
    assert "kernel cache" in printed
    if "none:" in printed:
        pytest.skip("no folder is writable here, so there is no cache")
    done = subprocess.run([sys.executable, "-c", COUNT_MISSES], capture_output=True, text=True, check=True)
    hits, missed = done.stdout.split(maxsplit=1)
    assert int(hits) > 20
    assert missed.strip() == "[]"


def test_warmup__says_where_there_is_no_cache() -> None:
    assert "compiled again" in describe_cache(())["kernel cache"]


def test_warmup__counts_the_files_of_every_folder(tmp_path: Path) -> None:
    for name in ("ipf", "rank"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.nbi").write_bytes(b"12")
        (tmp_path / name / "b.nbc").write_bytes(b"345")
    (tmp_path / "rank" / "other").write_bytes(b"6")
    told = describe_cache((str(tmp_path / "ipf"), str(tmp_path / "rank")))
    assert told == {"kernel cache": str(tmp_path), "files": "4, 10 bytes"}
