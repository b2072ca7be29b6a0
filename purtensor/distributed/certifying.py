"""The certificate of a distributed run, by the same passes over the parts as a Newton step."""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from purtensor.distributed.checkpoint import Stand
from purtensor.distributed.engine import map_reduce
from purtensor.distributed.passes import Floor, Tally, added, certificate_pass, divergence_pass, profiles_pass
from purtensor.distributed.slab_store import SlabStore, made_folders
from purtensor.errors import StoreError
from purtensor.kernels.certificate import unevenness
from purtensor.solving.certificate import UNPROVED, Certificate, proved, with_unevenness
from purtensor.solving.hessian.cholesky import factorize
from purtensor.solving.raised import FLOORS

_MOST_REFINEMENTS = 20
_UNIT = 2.0**-53


@dataclass(frozen=True, slots=True, eq=False)
class Refined:
    """The change w that makes a point p, scaled to the targets' total, feasible: p (1 + w).

    Attributes
    ----------
    first, tally
        What the first pass told of the point, and the last one of the change.
    miss
        What p (1 + w) misses in the worst constraint, L1, as scaled.
    token, scale
        The state in which the change lies, as `made`; what brings the masses to the targets' total.
    """

    first: Tally
    tally: Tally
    miss: float
    token: str
    scale: float

    @property
    def lowest(self) -> float:
        """The smallest w, or 0."""
        return -self.tally.largest["lowest"]


def certify(store: SlabStore, stand: Stand, *, at_last: bool = False) -> tuple[Certificate, float]:
    """Return what can be proved of the point where a run stands, and its divergence from the reference.

    What proves it, the change that makes the point feasible, is left in the store as the point's witness.

    Parameters
    ----------
    at_last
        Whether more is tried where nothing is proved, as in memory: with masses taken for larger. It costs as much
        again, twice at most, so a run that may still go on does not.
    """
    first, best = _refined(store, stand)
    if first is None:
        return UNPROVED, float("nan")
    divergence = _divergence(store, first.sums["divergence"])
    proof = UNPROVED if best is None else _certificate(store, first, best.miss, best.tally)
    if at_last and not proof.certified:
        if best is not None:
            _forget(store, best.token)
        best, proof = _proved_where_raised(store, stand, first)
    if best is not None:
        _put(store.state(best.token, 0).parent, store.witness(stand.token))
    return proof, divergence


def _proved_where_raised(store: SlabStore, stand: Stand, first: Tally) -> tuple[Refined | None, Certificate]:
    """Return the change found with masses taken for larger, where rounding hides what they tie together."""
    profiles = map_reduce(profiles_pass, added, store.parts, store).sums["profiles"]
    for share in FLOORS:
        _, found = _refined(store, stand, Floor(share, profiles))
        if found is not None:
            proof = _certificate(store, first, found.miss, found.tally)
            if proof.certified:
                return found, proof
            _forget(store, found.token)
    return None, UNPROVED


def divergence_at(store: SlabStore, stand: Stand) -> float:
    """Return the divergence from the reference of the point where a run stands, in nats; NaN where it is no number."""
    mass = float(stand.tally.sums["mass"])
    if not 0.0 < mass < float("inf"):
        return float("nan")
    scale = store.total / mass
    terms = map_reduce(divergence_pass, math.fsum, store.parts, store, stand.token, stand.outer, scale)
    return _divergence(store, terms)


def _divergence(store: SlabStore, terms: float) -> float:
    return max(0.0, float(terms) + store.nats_left_out)


def _put(state: Path, witness: Path) -> None:
    shutil.rmtree(witness, ignore_errors=True)
    made_folders(witness.parent.parent, (witness.parent.name,))
    try:
        os.replace(state, witness)
    except OSError as error:
        raise StoreError(f"{witness} cannot be written: {error.strerror or error}") from error


def refined(store: SlabStore, stand: Stand) -> Refined | None:
    """Return the change that makes the point where a run stands feasible; its state is left on disk."""
    return _refined(store, stand)[1]


def _refined(
    store: SlabStore, stand: Stand, floor: Floor | None = None
) -> tuple[Tally | None, Refined | None]:  # fmt: skip
    """Return what the first pass tells, None where the mass is no number, and the best change, None where none is.

    It is found by one elimination and refinement, until the miss no longer halves; each refinement is one pass.
    """
    mass = float(stand.tally.sums["mass"])
    if not 0.0 < mass < float("inf"):
        return None, None
    scale = store.total / mass

    def passed(solved: Any, number: int) -> Tally:
        tokens = (_token(number - 1), _token(number))
        tally: Tally = map_reduce(
            certificate_pass, added, store.parts, store, stand.token, stand.outer, scale, solved, tokens, floor
        )
        return tally

    first = tally = passed(None, 0)
    factor = factorize(first.sums["matrix"])
    best: Refined | None = None
    for number in range(1, _MOST_REFINEMENTS + 1):
        rhs = (store.outer_targets - tally.sums["outer"])[store.kept]
        tally = passed(factor.solve(rhs + tally.sums["vector"]), number)
        miss = _miss(store, tally)
        if not np.isfinite(miss) or (best is not None and miss > 0.5 * best.miss):
            _forget(store, _token(number))
            break
        _forget(store, _token(number - 1))
        best = Refined(first, tally, miss, _token(number), scale)
    if best is None:
        _forget(store, _token(0))
    return first, best


def _token(number: int) -> str:
    return f"change.{number}"


def _forget(store: SlabStore, token: str) -> None:
    shutil.rmtree(store.state(token, 0).parent, ignore_errors=True)


def _miss(store: SlabStore, tally: Tally) -> float:
    """Return the L1 miss of the worst constraint, as scaled."""
    l1 = np.array(tally.sums["l1"])
    for k, rows in store.outer_blocks.items():
        l1[k] = np.abs(tally.sums["outer"][rows] - store.outer_targets[rows]).sum()
    return float(l1.max())


def _certificate(store: SlabStore, first: Tally, miss: float, tally: Tally) -> Certificate:
    rounding = _UNIT * (4.0 + first.sums["weight"] / first.sums["mass"])
    upper, gap, moved = (tally.sums[name] / store.total for name in ("upper", "gap", "moved"))
    uneven = tally.sums["uneven"] + unevenness(store.outer_targets - tally.sums["outer"], store.outer_targets)
    upper = with_unevenness(upper, uneven / store.total)
    bound, tv = proved(-tally.largest["lowest"], upper, gap, moved, miss / store.total, rounding)
    return Certificate(bound, tv)
