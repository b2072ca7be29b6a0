"""How much memory this process can still get, and the refusal of requests beyond it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from purtensor.errors import TooLargeError

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")

_NOT_ASKED = 1 << 20
"""So many bytes are granted unasked: reading what control groups say takes as long as a small table."""


def available_memory(proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """Return how many bytes this process can still get: the least that machine, control groups and limits leave.

    Swap is not counted. If the system gives no information, the answer is `sys.maxsize`.
    """
    room = [*_machine(proc), *_control_groups(proc, cgroups), *_resource_limits(proc)]
    return max(0, min(room, default=sys.maxsize))


def require_memory(needed: int, what: str, advice: str = "") -> None:
    """Refuse a request for more memory than there is, before anything is allocated; 1 MiB is never refused.

    Parameters
    ----------
    needed
        Bytes, as an exact Python integer.
    what
        What needs them, as the subject of the message.

    Raises
    ------
    TooLargeError
        `needed` is more than what is available; the message states both.
    """
    if needed <= _NOT_ASKED:
        return
    available = available_memory()
    if needed > available:
        ending = f"; {advice}" if advice else ""
        raise TooLargeError(
            f"{what} needs {needed} bytes ({readable(needed)}), and {readable(available)} are available{ending}",
            needed,
            available,
        )


def readable(count: int) -> str:
    """Return a number of bytes as text, such as '1.5 GiB'."""
    units = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    power = min(max(count.bit_length() - 1, 0) // 10, len(units) - 1)
    if power == 0:
        return f"{count} bytes"
    tenths = count * 10 // 1024**power  # in integers: such a count can be beyond what a float holds
    whole = tenths // 10
    return (
        f"{whole}.{tenths % 10} {units[power]}" if whole < 10**6 else f"about 10^{len(str(whole)) - 1} {units[power]}"
    )


def _machine(proc: Path) -> Iterator[int]:
    fields = _fields(proc / "meminfo")
    if "MemAvailable" in fields:
        yield fields["MemAvailable"]
        return
    for name in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        if name in getattr(os, "sysconf_names", {}):
            yield os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
            return


def _control_groups(proc: Path, mount: Path) -> Iterator[int]:
    """Yield the room in every control group that holds this process, versions 1 and 2, and in their parents."""
    for line in _lines(proc / "self" / "cgroup"):
        parts = line.split(":", 2)
        if len(parts) < 3:
            continue
        _, controllers, path = parts
        # version 2 of control groups names no controllers
        if controllers == "":
            names = ("memory.max", "memory.current", "inactive_file")
            roots = [mount, mount / "unified"]
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            roots = [mount / controllers, mount / "memory"]
        else:
            continue
        # inside a container the path may be the host's: then only the root of the mount is there
        inner = Path(path.lstrip("/"))
        for root in roots:
            for folder in (root / part for part in (inner, *inner.parents)):
                yield from _group_room(folder, *names)


def _group_room(folder: Path, limit_name: str, usage_name: str, reclaimable: str) -> Iterator[int]:
    limit, usage = _number(folder / limit_name), _number(folder / usage_name)
    if limit is None or usage is None:
        return
    # the kernel gives back file pages that are not in use before it refuses memory
    stat = dict(line.split()[:2] for line in _lines(folder / "memory.stat") if len(line.split()) == 2)
    yield limit - usage + int(stat.get(reclaimable, 0))


def _resource_limits(proc: Path) -> Iterator[int]:
    if resource is None:
        return
    used = _fields(proc / "self" / "status")
    for limit, field in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        soft = resource.getrlimit(limit)[0]
        if soft != resource.RLIM_INFINITY:
            yield soft - used.get(field, 0)


def _fields(path: Path) -> dict[str, int]:
    """Return the lines 'name: number kB' of a file of /proc, in bytes."""
    pairs = (line.split() for line in _lines(path))
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in pairs if len(words) == 3 and words[2] == "kB"}


def _number(path: Path) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].strip().isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
