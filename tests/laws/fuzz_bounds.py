"""Draws problems whose exact answer is known, and holds every bound against it: counts by family.

Run as `python -m tests.laws.fuzz_bounds --seconds 600 --seed 1`; `tests/laws/test_fuzz_bounds.py` takes a few in daily
runs and many under the thorough profile.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import dask

import purtensor as pt
from tests import oracles
from tests.laws.fuzz_problems import FAMILIES, Posed, met_by_named_rows
from tests.solving.drawn import SOLVERS

TOLERANCES = (1e-13, 1e-10, 1e-10, 1e-7, 1e-4, 1e-2, 1e-1)
LIMITS = (0, 1, 3, 10, 100, 1000)
ON_DISK = ("IPF", "Newton", "Newton at once")
WEAK = 1e-12
"""A bound above 10 times the truth and this much is called weak."""

ROUNDING = Fraction(2, 10**16)
"""Distances of tables of total 1 are told as float64 numbers: bounds below this are not held against them."""


@dataclass
class Counts:
    """What was tried and found, by family and kind of bound; `worst` is the largest truth / bound of the false."""

    tried: Counter[str] = field(default_factory=Counter)
    unproved: Counter[str] = field(default_factory=Counter)
    weak: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    worst: float = 0.0
    seeds: list[int] = field(default_factory=list)
    converged: int = 0
    refused: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)

    def judge(self, seed: int, result: Any, checked: pt.Verification) -> None:
        """Note what `verify` does not confirm of a result that converged."""
        self.converged += result.converged
        if result.converged and not checked.passed:
            self.refused.append((seed, checked.failures))

    def hold(self, kind: str, seed: int, truth: float, bound: float, rounding: float) -> None:
        """Hold a bound against the truth."""
        self.tried[kind] += 1
        unproved = not bound < (1.0 if "tv" in kind else math.inf)
        self.unproved[kind] += unproved
        self.weak[kind] += not unproved and bound > 10 * truth + WEAK
        if truth > bound * (1 + 1e-9) + rounding:
            self.false[kind] += 1
            self.worst = max(self.worst, truth / bound if bound else math.inf)
            self.seeds.append(seed)

    def __str__(self) -> str:
        lines = [
            f"{kind}: {self.false[kind]} false of {n}, {self.unproved[kind]} prove nothing, {self.weak[kind]} are weak"
            for kind, n in sorted(self.tried.items())
        ]
        lines.append(f"refused by verify: {len(self.refused)} of {self.converged} converged; {self.refused[:5]}")
        return "\n".join([*lines, f"worst factor {self.worst:.3g}, seeds {self.seeds[:20]}"])


def attack(
    seed: int,
    counts: Counts,
    family: str = "mixed",
    project: Callable[..., Any] = pt.project,
    *,
    checked: bool = True,
) -> None:
    """Solve the problem of a seed, somehow, and hold what is proved against its exact answer; verify it if checked."""
    problem = FAMILIES[family](seed)
    random = Random(seed + 1)
    solver = SOLVERS[random.choice(list(SOLVERS))]
    tolerance, limit = random.choice(TOLERANCES), random.choice(LIMITS)
    result = project(
        problem.reference,
        problem.constraints,
        solver=solver,
        on_failure="return",
        tolerance=tolerance,
        max_iterations=limit,
    )
    if result.table is not None:
        exactly = random.random() < 0.1 and result.table.size < 50
        masses = oracles.masses_of(result.table)
        if checked:
            hold(counts, seed, problem, result, masses, exactly=exactly)
        else:
            hold_against(problem.answer, counts, seed, problem, masses, [(problem.family, result)])


def attack_on_disk(seed: int, counts: Counts, family: str = "mixed") -> None:
    """Solve the problem of a seed with its table on disk, in parts of a few profiles."""
    problem = FAMILIES[family](seed)
    random = Random(seed + 1)
    parts = {"scheduler": "synchronous", "purtensor.part-profiles": random.choice((4, 8, 1000))}
    with tempfile.TemporaryDirectory() as folder, dask.config.set(parts):
        reference = pt.store_table(problem.reference, Path(folder) / "t.zarr")
        result = pt.project(
            reference,
            problem.constraints,
            solver=SOLVERS[random.choice(ON_DISK)],
            on_failure="return",
            tolerance=random.choice(TOLERANCES),
            max_iterations=random.choice(LIMITS),
        )
        where = "on disk, contradicting" if family == "contradicting" else "on disk"
        hold(counts, seed, problem._replace(family=where), result, oracles.masses_of(result.table.to_table()))


def hold(
    counts: Counts, seed: int, problem: Posed, result: Any, masses: dict[Any, Fraction], *, exactly: bool = False
) -> None:
    """Hold the bounds of a result, and of its verification, against its distance from the exact answer."""
    proofs = [(problem.family, result), ("verify", pt.verify(result))]
    if exactly:
        proofs.append(("verify, exact", pt.verify(result, exact=True)))
    counts.judge(seed, result, proofs[1][1])
    answer: dict[Any, Fraction] | None = problem.answer
    # targets that contradict each other: on disk the masses decide which rows are met
    if "contradicting" in problem.family and result.path is not None:
        named = result.independent_rows
        answer = None if named is None else met_by_named_rows(problem, named)
    if answer is not None:
        hold_against(answer, counts, seed, problem, masses, proofs)


def hold_against(
    answer: dict[Any, Fraction],
    counts: Counts,
    seed: int,
    problem: Posed,
    masses: dict[Any, Fraction],
    proofs: list[tuple[str, Any]],
) -> None:
    """Hold what is proved of a table against its distance from this answer."""
    table, exact = oracles.normalised(masses), oracles.normalised(answer)
    distance = float(oracles.total_variation(exact, table))
    divergence = oracles.kl(exact, table)
    log_ratio = 0.0
    asked = [isinstance(proof, pt.Verification) or seed // len(FAMILIES) % 10 == 0 for _, proof in proofs]
    if any(asked):  # results compute them on request
        # of the masses as they are: totals may differ by 2^-44, which log ratios of shares would hide
        logs = (oracles.log_of(answer[profile] / mass) for profile, mass in masses.items())
        log_ratio = max((abs(float(one)) for one in logs), default=0.0)
    for (kind, proof), wanted in zip(proofs, asked, strict=True):
        counts.hold(f"{kind}: tv_bound", seed, distance, proof.tv_bound, float(ROUNDING))
        counts.hold(f"{kind}: bound", seed, divergence, proof.bound, 1e-30)
        if wanted:
            counts.hold(f"{kind}: log_ratio_bound", seed, log_ratio, proof.log_ratio_bound, float(ROUNDING))


def main() -> None:
    """Draw for so many seconds, or so many problems, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--solves", type=int, default=10**7, help="at most so many problems")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", choices=[*FAMILIES, "disk"], help="one family alone; by default all in turn")
    parser.add_argument("--quick", action="store_true", help="verify one in 20, store one in 200 on disk, few of PUR")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    os.fsync = lambda _: None  # most of the time of small runs on disk; no power fails here
    counts, end, first = Counts(), time.monotonic() + asked.seconds, asked.seed * 10**7
    families = list(FAMILIES) if asked.family is None else [asked.family]
    seed = first
    while time.monotonic() < end and seed < first + asked.solves:
        # by turns of all families, or what is done at times would always be done to the same ones
        turn, family = seed // len(families), families[seed % len(families)]
        if asked.quick and family == "PUR" and turn % 5:
            family = "nearly dependent"  # their answers take no forty digits
        if family == "disk" or (asked.family is None and seed % (200 if asked.quick else 50) == 0):
            attack_on_disk(seed, counts, Random(seed).choice(list(FAMILIES)))
        else:
            attack(seed, counts, family, checked=not asked.quick or turn % 20 == 1)
        seed += 1
    print(f"{seed - first} problems, {time.process_time():.0f} s\n{counts}")  # noqa: T201


if __name__ == "__main__":
    main()
