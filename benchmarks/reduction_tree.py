"""A reduction tree with stragglers and failures, simulated: what one iteration takes on many workers.

Run: python benchmarks/reduction_tree.py [WORKERS PARTS_PER_WORKER SECONDS_PER_PART]
"""

from __future__ import annotations

import heapq
import sys

import numpy as np

FAN_IN = 8
HOP_SECONDS = 2e-3
"""One message of some kilobytes, with the scheduler's own work for it."""
RESTART_SECONDS = 10.0
"""A new worker: the process, its imports, its place at the scheduler."""


def iteration_seconds(
    rng: np.random.Generator,
    workers: int,
    parts: int,
    part_seconds: float,
    *,
    straggling: float,
    slowdown: float,
    failures: float,
) -> float:
    """Return the seconds of one iteration.

    Parts are taken from one queue as workers get free. A share `straggling` of workers is slower by `slowdown`; each
    worker dies with probability `failures` at a random moment: its part is done again by others, and it is back later.
    """
    pace = np.where(rng.random(workers) < straggling, slowdown, 1.0)
    ideal = parts * part_seconds / workers
    dies = np.where(rng.random(workers) < failures, rng.random(workers) * ideal, np.inf)
    queue = [(0.0, worker) for worker in range(workers)]
    takes = part_seconds * rng.lognormal(0.0, 0.1, parts)
    ends: list[float] = []
    while len(ends) < parts:
        begins, worker = queue[0]
        ends_at = begins + pace[worker] * takes[len(ends)]
        if begins <= dies[worker] < ends_at:
            heapq.heapreplace(queue, (dies[worker] + RESTART_SECONDS, worker))
            continue
        heapq.heapreplace(queue, (ends_at, worker))
        ends.append(ends_at)
    return _reduced(np.array(ends))


def _reduced(ready: np.ndarray) -> float:
    """Return when the root of the tree is there: each node waits for its last child, and one hop."""
    while len(ready) > 1:
        groups = [ready[at : at + FAN_IN] for at in range(0, len(ready), FAN_IN)]
        ready = np.array([group.max() + HOP_SECONDS for group in groups])
    return float(ready[0])


def main(workers: int, per_worker: int, part_seconds: float) -> None:
    """Print the median and the 95th percentile of an iteration, in units of the ideal one."""
    ideal = per_worker * part_seconds
    for straggling, slowdown, failures in ((0, 1, 0), (0.05, 3, 0), (0.05, 3, 0.01), (0.2, 3, 0.05)):
        rng = np.random.default_rng(1)
        times = [
            iteration_seconds(
                rng,
                workers,
                workers * per_worker,
                part_seconds,
                straggling=straggling,
                slowdown=slowdown,
                failures=failures,
            )
            / ideal
            for _ in range(20)
        ]
        told = f"{straggling:.0%} of workers {slowdown} times slower, {failures:.0%} die"
        print(f"{told:55s} median {np.median(times):.3f}  95 %: {np.quantile(times, 0.95):.3f}")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(*(int(given[0]), int(given[1]), float(given[2])) if given else (100, 20, 2.0))
