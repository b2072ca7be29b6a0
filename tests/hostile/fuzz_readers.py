"""Feed spoilt files to every reader: `python -m tests.hostile.fuzz_readers MINUTES [FOLDER [NAME ...]]`.

A reader gives the right answer or a PurtensorError. Whatever else happens is a finding, kept in FOLDER as the file that
did it and a text beside it: another error, a warning of another package, more than 10 seconds or 1 GiB, a wrong
answer, or the end of the process. The reading goes on in a process of its own, so that this one sees it end.
"""

from __future__ import annotations

import json
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import purtensor as pt
from tests.hostile.readers import READERS, outcome

ROOT = Path(__file__).resolve().parents[2]
SECONDS, STUCK, GIBIBYTE = 10, 60, 1 << 30


class TooSlowError(Exception):
    """A reader that took more than ten seconds."""


def too_slow(*_: Any) -> None:
    raise TooSlowError(f"{SECONDS} seconds")


def tried(name: str, content: bytes, folder: Path) -> tuple[str, str]:
    """What came of one file: how it ended, and the traceback of a finding."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ended, told = outcome(name, content, folder), ""
    except Exception as error:
        ended, told = f"finding: {where(error)}", traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    foreign = [str(one.message) for one in caught if not issubclass(one.category, pt.errors.PurtensorWarning)]
    if foreign and not told:
        ended, told = f"finding: warning {foreign[0][:60]}", "\n".join(foreign)
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before > GIBIBYTE >> 10:
        ended, told = "finding: more than 1 GiB", told
    return ended, told


def where(error: BaseException) -> str:
    """The class of an error and the last line of the package that it passed."""
    lines = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if "purtensor" in Path(f.filename).parts[-3:-1] or "/purtensor/" in f.filename
    ]
    line = f"{Path(lines[-1].filename).name}:{lines[-1].lineno}" if lines else "tests"
    return f"{type(error).__name__} at {line}"


def work(seed: int, minutes: float, folder: Path, names: list[str]) -> None:
    """Try files until the time is over; tell counts once a second, and findings at once."""
    signal.signal(signal.SIGALRM, too_slow)
    random, told_at = Random(seed), 0.0
    seeds = {name: READERS[name].seeds() for name in names}
    for name in names:  # everything imported and compiled, before memory is limited
        for content in seeds[name]:
            tried(name, content, folder)
    limit_memory()
    counts: Counter[str] = Counter()
    until = time.monotonic() + 60 * minutes
    while time.monotonic() < until:
        name = random.choice(names)
        content, other = random.choice(seeds[name]), random.choice(seeds[name])
        content = READERS[name].spoil(random, content, other)
        (folder / "current").write_bytes(name.encode() + b"\n" + content)
        ended, traced = tried(name, content, folder)
        counts[f"{name}\t{ended}"] += 1
        if traced or time.monotonic() - told_at > 1:
            tell(counts, ended if traced else "", traced)
            if traced:
                sys.stdin.readline()  # the file is copied before the next one
            counts, told_at = Counter(), time.monotonic()
    tell(counts, "", "")


def tell(counts: Counter[str], finding: str, traced: str) -> None:
    sys.stdout.write(json.dumps({"counts": counts, "finding": finding, "traced": traced}) + "\n")
    sys.stdout.flush()


def limit_memory() -> None:
    """At most 1 GiB more than now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else None
    if pages is not None:
        most = pages * resource.getpagesize() + GIBIBYTE
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def fuzz(minutes: float, findings: Path, names: list[str]) -> Counter[str]:
    """Run workers one after the other, a new one where one dies, and gather what they tell."""
    until, seed, counts = time.monotonic() + 60 * minutes, int(time.time()), Counter[str]()
    findings.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        while (left := until - time.monotonic()) > 1:
            seed += 1
            command = [sys.executable, "-m", "tests.hostile.fuzz_readers", "--work", str(seed), str(left / 60), scratch]
            log = findings / "errors.log"
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            with (
                log.open("ab") as errors,
                subprocess.Popen([*command, *names], cwd=ROOT, stderr=errors, **pipes) as worker,
            ):
                ended = gathered(worker, Path(scratch), findings, counts)
            if ended:
                counts[f"{keep(Path(scratch), findings, ended, '')}\t{ended}"] += 1
            (findings / "counts.json").write_text(json.dumps(counts, indent=1, sort_keys=True))
    return counts


def gathered(worker: subprocess.Popen[str], scratch: Path, findings: Path, counts: Counter[str]) -> str:
    """Read what a worker tells until it ends; how it ended, if not well."""
    assert worker.stdout is not None
    assert worker.stdin is not None
    while True:
        if not select.select([worker.stdout], [], [], STUCK * 3)[0]:
            worker.kill()
            worker.wait()
            return "finding: stuck"
        line = worker.stdout.readline()
        if not line:
            code = worker.wait()
            return f"finding: ended with {code}" if code else ""
        told = json.loads(line)
        counts.update(told["counts"])
        (findings / "counts.json").write_text(json.dumps(counts, indent=1, sort_keys=True))
        if told["finding"]:
            keep(scratch, findings, told["finding"], told["traced"])
            worker.stdin.write("go on\n")
            worker.stdin.flush()


def keep(scratch: Path, findings: Path, ended: str, traced: str) -> str:
    """Copy the file of a finding, at most three of each kind; the reader's name."""
    current = scratch / "current"
    name, _, content = (current.read_bytes() if current.exists() else b"before the first file\n").partition(b"\n")
    stem = "".join(c if c.isalnum() else "-" for c in f"{name.decode()} {ended}")[:150]
    number = len(list(findings.glob(f"{stem}.*.file")))
    if number < 3:
        (findings / f"{stem}.{number}.file").write_bytes(content)
        (findings / f"{stem}.{number}.txt").write_text(f"{name.decode()}\n{ended}\n{traced}")
    return name.decode()


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        work(int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]), sys.argv[5:])
    else:
        chosen = sys.argv[3:] or list(READERS)
        found = fuzz(float(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "findings"), chosen)
        lines = [f"{sum(found.values())} files", *(f"{number:8d}  {what}" for what, number in sorted(found.items()))]
        sys.stdout.write("\n".join(lines) + "\n")
