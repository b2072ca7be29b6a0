"""Compiled kernels and their cache: whatever is wrong with it costs a compilation, never an error."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import purtensor
from purtensor.kernels._sources import fingerprint
from purtensor.kernels.reductions import lane_sum

NAME = "kernel_of_a_test"
KERNEL = """
from purtensor.kernels._jit import compiled

@compiled
def twice(x):
    return 2 * x
"""

PROGRAM = f"""
import sys
sys.path.insert(0, sys.argv[1])
from {NAME} import twice
assert twice(21) == 42
print(sum(twice.stats.cache_hits.values()), sum(twice.stats.cache_misses.values()))
"""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / f"{NAME}.py").write_text(KERNEL)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def hits_and_misses(folder: Path) -> tuple[int, int]:
    """What the cache gave for one call of the kernel as a new process sees it; the call itself must be right."""
    spec = importlib.util.spec_from_file_location(NAME, folder / "code" / f"{NAME}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    try:
        spec.loader.exec_module(module)
        assert module.twice(21) == 42
    finally:
        del sys.modules[NAME]
    stats = module.twice.stats
    return sum(stats.cache_hits.values()), sum(stats.cache_misses.values())


def cached(folder: Path, ending: str) -> list[Path]:
    return sorted((folder / "cache").rglob(f"*{ending}"))


def test_compiled__what_was_compiled_once_is_taken_from_the_cache(folder: Path) -> None:
    assert hits_and_misses(folder) == (0, 1)
    assert hits_and_misses(folder) == (1, 0)


@pytest.mark.parametrize("ending", [".nbi", ".nbc"], ids=["index", "code"])
@pytest.mark.parametrize("damage", ["emptied", "cut short", "overwritten"])
def test_compiled__a_damaged_cache_costs_one_compilation(folder: Path, ending: str, damage: str) -> None:
    hits_and_misses(folder)
    (file,) = cached(folder, ending)
    content = file.read_bytes()
    kept = {"emptied": b"", "cut short": content[: len(content) // 2], "overwritten": b"\x80garbage" * 50}[damage]
    file.write_bytes(kept)
    assert hits_and_misses(folder) == (0, 1)
    assert hits_and_misses(folder) == (1, 0)


def test_compiled__a_cache_that_is_gone_is_made_again(folder: Path) -> None:
    hits_and_misses(folder)
    for file in cached(folder, ".nbc"):
        file.unlink()
    assert hits_and_misses(folder) == (0, 1)
    assert hits_and_misses(folder) == (1, 0)


def test_compiled__no_writable_folder_means_no_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a file where each folder would be: refused also where the tests run as root
    for name in ("cache", "home"):
        (folder / name).write_text("")
    (folder / "code" / "__pycache__").write_text("")
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "home" / "cache"))
    for directory in (str(folder / "cache"), ""):
        monkeypatch.setattr(numba.config, "CACHE_DIR", directory)
        assert hits_and_misses(folder)[0] == 0
        assert hits_and_misses(folder)[0] == 0


def test_compiled__a_full_disk_means_no_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: object, name: str, data: object) -> None:
        raise OSError(28, "no space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(numba.core.caching.IndexDataCacheFile, "_save_data", full)
        assert hits_and_misses(folder)[0] == 0
    assert hits_and_misses(folder) == (0, 1)
    assert hits_and_misses(folder) == (1, 0)


def test_compiled__an_installation_that_others_filled_may_be_read_only(folder: Path) -> None:
    hits_and_misses(folder)
    files = [*cached(folder, ".nbi"), *cached(folder, ".nbc")]
    for file in files:
        file.chmod(0o444)
    files[0].parent.chmod(0o555)
    try:
        assert hits_and_misses(folder) == (1, 0)
    finally:
        files[0].parent.chmod(0o755)


def test_compiled__several_processes_starting_cold_do_not_harm_each_other(folder: Path) -> None:
    words = [sys.executable, "-c", PROGRAM, str(folder / "code")]
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    processes = [
        subprocess.Popen(words, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for process in processes:
        said, complained = process.communicate(timeout=300)
        assert (process.returncode, complained) == (0, "")
        assert sum(map(int, said.split())) == 1
    assert hits_and_misses(folder) == (1, 0)


CALLER = """
from purtensor.kernels._jit import compiled
from called_by_a_test import once

@compiled
def twice(x):
    return once(x) + once(x)
"""
CALLED = """
from purtensor.kernels._jit import compiled

@compiled
def once(x):
    return {}
"""
PRINTS = f"""
import sys
sys.path.insert(0, sys.argv[1])
from {NAME} import twice
print(twice(21), sum(twice.stats.cache_hits.values()), sum(twice.stats.cache_misses.values()))
"""


def in_a_new_process(folder: Path) -> tuple[int, ...]:
    """The kernel's value at 21, and what its cache gave."""
    words = [sys.executable, "-c", PRINTS, str(folder / "code")]
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    said = subprocess.run(words, env=settings, capture_output=True, text=True, timeout=300, check=True).stdout
    return tuple(map(int, said.split()))


def test_compiled__a_caller_is_compiled_again_when_a_kernel_of_another_file_has_changed(folder: Path) -> None:
    called = folder / "code" / "called_by_a_test.py"
    (folder / "code" / f"{NAME}.py").write_text(CALLER)
    called.write_text(CALLED.format("x"))
    assert in_a_new_process(folder) == (42, 0, 1)
    assert in_a_new_process(folder) == (42, 1, 0)
    called.write_text(CALLED.format("x + 1"))
    assert in_a_new_process(folder) == (44, 0, 1)
    assert in_a_new_process(folder) == (44, 1, 0)
    called.write_text(CALLED.format("x + 1"))  # another time, the same text
    assert in_a_new_process(folder) == (44, 1, 0)


def test_compiled__a_source_written_since_it_was_imported_is_neither_asked_nor_kept(folder: Path) -> None:
    source = folder / "code" / f"{NAME}.py"
    sys.path.insert(0, str(folder / "code"))
    try:
        module = importlib.import_module(NAME)
        source.write_text(KERNEL.replace("2 * x", "3 * x"))
        assert module.twice(21) == 42
    finally:
        sys.path.remove(str(folder / "code"))
        del sys.modules[NAME]
    assert cached(folder, ".nbi") == []


def test_fingerprint__is_of_the_file_and_all_beside_it_that_it_imports_from(tmp_path: Path) -> None:
    texts = {"top": "from package.kernels.middle import a\n", "middle": "from bottom import b\n", "bottom": "", "x": ""}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    before = fingerprint(tmp_path / "top.py")
    (tmp_path / "x.py").write_text("1")
    assert fingerprint(tmp_path / "top.py") == before
    (tmp_path / "bottom.py").write_text("1")
    after = fingerprint(tmp_path / "top.py")
    assert after.digest != before.digest
    assert after.written > before.written
    assert fingerprint(tmp_path / "x.py").digest != after.digest


def test_fingerprint__follows_imports_into_other_folders_of_its_package(tmp_path: Path) -> None:
    for folder in ("package", "package/kernels", "package/kernels/rank", "package/kernels/ipf"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("")
    sweeps = tmp_path / "package" / "kernels" / "ipf" / "sweeps.py"
    sweeps.write_text("from package.kernels.rank.forest import tree\nfrom elsewhere.kernels.rank.other import x\n")
    (tmp_path / "package" / "kernels" / "rank" / "forest.py").write_text("from package.kernels.sums import add\n")
    (tmp_path / "package" / "kernels" / "rank" / "other.py").write_text("")
    (tmp_path / "package" / "kernels" / "sums.py").write_text("")
    before = fingerprint(sweeps)
    (tmp_path / "package" / "kernels" / "rank" / "other.py").write_text("1")
    assert fingerprint(sweeps) == before
    (tmp_path / "package" / "kernels" / "sums.py").write_text("1")
    assert fingerprint(sweeps).digest != before.digest


def test_compiled__nothing_of_numba_is_imported_before_a_kernel_is_called() -> None:
    words = "import sys, purtensor.cli.main, purtensor.projection.project; print('numba' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout
    assert said == "False\n"


def test_compiled__a_kernel_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(lane_sum)) is lane_sum


def test_fingerprint__is_not_of_what_compiles() -> None:
    package = Path(purtensor.__file__).parent
    of_kernel, alone = (fingerprint(package / "kernels" / name).digest for name in ("checksum.py", "_jit.py"))
    sources = [package / name for name in ("kernels/checksum.py", "_typing.py")]
    assert of_kernel == hashlib.sha256(b"".join(hashlib.sha256(f.read_bytes()).digest() for f in sources)).hexdigest()
    assert of_kernel != alone
