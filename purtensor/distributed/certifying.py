"""The certificate of a distributed run, by the same passes over the parts as a Newton step."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np

from purtensor.distributed.checkpoint import Stand
from purtensor.distributed.engine import map_reduce
from purtensor.distributed.passes import Tally, added, certificate_pass
from purtensor.distributed.slab_store import SlabStore
from purtensor.solving.certificate import Certificate, proved
from purtensor.solving.hessian.cholesky import factorize

_MOST_REFINEMENTS = 20
_UNIT = 2.0**-53


def certify(store: SlabStore, stand: Stand) -> tuple[Certificate, float]:
    """Return what can be proved of the point where a run stands, and its divergence from the reference.

    The feasible point beside it is found by one elimination and refinement, until the miss no longer halves; each
    refinement is one pass.
    """
    mass = float(stand.tally.sums["mass"])
    if not 0.0 < mass < float("inf"):
        return Certificate(float("inf"), 1.0), float("nan")
    scale = store.total / mass

    def passed(solved: Any, number: int) -> Tally:
        tokens = (f"change.{number - 1}", f"change.{number}")
        tally: Tally = map_reduce(
            certificate_pass, added, store.parts, store, stand.token, stand.outer, scale, solved, tokens
        )
        shutil.rmtree(store.folder / "states" / tokens[0], ignore_errors=True)
        return tally

    first = tally = passed(None, 0)
    factor = factorize(first.sums["matrix"])
    best: tuple[float, Tally] | None = None
    for number in range(1, _MOST_REFINEMENTS + 1):
        rhs = (store.outer_targets - tally.sums["outer"])[store.kept]
        tally = passed(factor.solve(rhs + tally.sums["vector"]), number)
        miss = _miss(store, tally)
        if not np.isfinite(miss) or (best is not None and miss > 0.5 * best[0]):
            break
        best = (miss, tally)
    shutil.rmtree(store.folder / "states" / f"change.{number}", ignore_errors=True)
    rest = store.lost / (1.0 - store.lost)
    divergence = max(0.0, float(first.sums["divergence"]) + np.log1p(rest))
    if best is None:
        return Certificate(float("inf"), 1.0), divergence
    return _certificate(store, first, *best), divergence


def _miss(store: SlabStore, tally: Tally) -> float:
    """Return the L1 miss of the worst constraint, as scaled."""
    l1 = np.array(tally.sums["l1"])
    for k, rows in store.outer_blocks.items():
        l1[k] = np.abs(tally.sums["outer"][rows] - store.outer_targets[rows]).sum()
    return float(l1.max())


def _certificate(store: SlabStore, first: Tally, miss: float, tally: Tally) -> Certificate:
    rounding = _UNIT * (4.0 + first.sums["weight"] / first.sums["mass"])
    upper, gap, moved = (tally.sums[name] / store.total for name in ("upper", "gap", "moved"))
    bound, tv = proved(-tally.largest["lowest"], upper, gap, moved, miss / store.total, rounding)
    return Certificate(bound, tv)
