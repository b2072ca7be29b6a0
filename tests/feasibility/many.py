"""Verdicts on many small problems against the oracle: `python -m tests.feasibility.many 10000` counts them."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from purtensor.projection.diagnose import diagnose
from tests.feasibility.drawn import KINDS, drawn
from tests.feasibility.oracle import decide


def faults(problem, answer, diagnosis):
    """What is wrong with a diagnosis, in words; nothing where all is right."""
    if diagnosis.verdict != answer.verdict:
        yield f"{diagnosis.verdict}, the oracle says {answer.verdict}"
    elif answer.verdict != "infeasible":
        empty = {problem.profiles[j] for j in answer.zeros}
        if {tuple(profile) for profile in diagnosis.implied_zeros.indexes["profile"]} != empty:
            yield "other implied zeros than the oracle's"
    if problem.verdict not in (None, answer.verdict):
        yield f"built to be {problem.verdict}, the oracle says {answer.verdict}"
    if not diagnosis.verify():
        yield "the witness does not verify"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, help="how many problems")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    chosen = parser.parse_args()
    verdicts, decades, arithmetics, wrong = Counter(), Counter(), Counter(), []
    longest = 0.0
    for seed in range(chosen.first, chosen.first + chosen.count):
        kind = KINDS[seed % len(KINDS)]
        problem = drawn(seed, kind)
        answer = decide(*problem.rows())
        started = time.perf_counter()
        diagnosis = diagnose(problem.reference, problem.constraints)
        longest = max(longest, time.perf_counter() - started)
        wrong += [f"seed {seed} ({kind}): {fault}" for fault in faults(problem, answer, diagnosis)]
        verdicts[kind, answer.verdict] += 1
        arithmetics[diagnosis.exact] += 1
        if problem.margin is not None:
            decades[problem.decade] += 1
    lines = ["kind, verdict:", *(f"  {kind} {verdict}: {n}" for (kind, verdict), n in sorted(verdicts.items()))]
    lines += ["infeasible by construction, margin:", *(f"  1e-{d}: {n}" for d, n in sorted(decades.items()))]
    lines += ["proved by:", *(f"  {name}: {n}" for name, n in arithmetics.most_common())]
    lines += [f"longest diagnosis: {longest:.3f} s", f"faults: {len(wrong)}", *wrong]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
