from __future__ import annotations

import re
import sys

import pytest

import purtensor as pt
from purtensor.tables import memory
from purtensor.tables.memory import available_memory, readable, require_memory

GIB = 2**30


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def machine(tmp_path):
    """A made-up machine with 8 GiB to spare, and no control group yet."""
    write(
        tmp_path / "proc" / "meminfo", f"MemTotal: {16 * 2**20} kB\nMemAvailable: {8 * 2**20} kB\nHugePages_Total: 0\n"
    )
    return tmp_path


def room(machine):
    return available_memory(machine / "proc", machine / "cgroup")


def test_available_memory__of_the_machine(machine):
    assert room(machine) == 8 * GIB


def test_available_memory__of_a_control_group_of_version_2_and_its_parents(machine):
    write(machine / "proc/self/cgroup", "0::/jobs/mine\n")
    write(machine / "cgroup/jobs/mine/memory.max", "max\n")
    write(machine / "cgroup/jobs/mine/memory.current", "1\n")
    write(machine / "cgroup/jobs/memory.max", f"{4 * GIB}\n")
    write(machine / "cgroup/jobs/memory.current", f"{3 * GIB}\n")
    write(machine / "cgroup/jobs/memory.stat", f"anon {2 * GIB}\ninactive_file {GIB // 2}\n")
    assert room(machine) == 3 * GIB // 2


def test_available_memory__of_a_control_group_of_version_1(machine):
    write(machine / "proc/self/cgroup", "5:devices:/\n4:cpu,memory:/host/path\n0::/\n")
    write(machine / "cgroup/memory/memory.limit_in_bytes", f"{2 * GIB}\n")
    write(machine / "cgroup/memory/memory.usage_in_bytes", f"{GIB}\n")
    assert room(machine) == GIB


def test_available_memory__never_negative(machine):
    write(machine / "proc/self/cgroup", "0::/\n")
    write(machine / "cgroup/memory.max", "10\n")
    write(machine / "cgroup/memory.current", "20\n")
    assert room(machine) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are counted against /proc")
def test_available_memory__under_a_resource_limit(machine, monkeypatch):
    limits = {memory.resource.RLIMIT_AS: (3 * GIB, -1), memory.resource.RLIMIT_DATA: (-1, -1)}
    monkeypatch.setattr(memory.resource, "getrlimit", limits.__getitem__)
    write(machine / "proc/self/status", f"Name: python\nVmSize: {2**20} kB\nVmData: 8 kB\n")
    assert room(machine) == 2 * GIB


def test_available_memory__where_the_system_tells_free_pages_only_or_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "resource", None)
    monkeypatch.setattr(memory.os, "sysconf", {"SC_PHYS_PAGES": 3000, "SC_PAGE_SIZE": 4096}.__getitem__)
    monkeypatch.setattr(memory.os, "sysconf_names", {"SC_PHYS_PAGES": 1})
    assert room(tmp_path) == 3000 * 4096
    monkeypatch.setattr(memory.os, "sysconf_names", {})
    assert room(tmp_path) == sys.maxsize


def test_available_memory__what_is_no_control_group_is_passed_over(machine):
    write(machine / "proc/self/cgroup", "no group\n7:devices:/\n0::/\n")
    write(machine / "cgroup/memory.max", f"{GIB}\n")
    write(machine / "cgroup/memory.current", "0\n")
    assert room(machine) == GIB


def test_available_memory__of_this_machine():
    assert 2**20 < available_memory() <= sys.maxsize


def test_require_memory__states_both_numbers():
    require_memory(1, "nothing much")
    with pytest.raises(
        pt.TooLargeError, match=r"the atlas needs 80{40} bytes \(about 10\^22 EiB\), and .* available; "
    ):
        require_memory(8 * 10**40, "the atlas", "take a smaller one")
    with pytest.raises(MemoryError) as caught:
        require_memory(2**62, "the atlas")
    assert caught.value.bytes_needed == 2**62
    assert 0 < caught.value.bytes_available < 2**62
    assert not re.search(r"; $", str(caught.value))


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (8 * 20**12, "29.1 PiB"), (2**70, "1024.0 EiB")],
)
def test_readable__in_powers_of_1024(count, text):
    assert readable(count) == text


def test_require_memory__asks_the_system_above_a_mebibyte_only(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 0)
    require_memory(1 << 20, "a small table")
    with pytest.raises(pt.TooLargeError, match="a larger one needs 1048577 bytes"):
        require_memory((1 << 20) + 1, "a larger one")
