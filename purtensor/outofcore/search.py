"""Newton's method on a cut problem as a search for evidence: a positive solution, or weights that prove something.

Each step gives the same evidence as that of the search in memory (notes/feasibility.md, equations 3 to 5), in one pass
over the parts; candidates are checked in another.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace

import numpy as np

from purtensor._typing import FloatArray
from purtensor.errors import StoreError
from purtensor.feasibility.search import SWEEPS, Signs, search_evidence
from purtensor.kernels.feasibility.sums import repair_price
from purtensor.kernels.reductions import inner_product, spread
from purtensor.outofcore.array_file import read_own
from purtensor.outofcore.check_certificate import Guess, Proven, weigh_guess
from purtensor.outofcore.checkpoint import PartsPoint, recall
from purtensor.outofcore.coupling_rank import relations_of
from purtensor.outofcore.engine import Tally, add_tallies, map_each, map_reduce
from purtensor.outofcore.part import extend_from
from purtensor.outofcore.parts_points import Direction
from purtensor.outofcore.parts_space import PartsChange, PartsSpace
from purtensor.outofcore.passes import START, open_masses
from purtensor.outofcore.slab_store import SlabStore
from purtensor.solving.loop import begin
from purtensor.solving.run_state import State
from purtensor.solving.spaces.space import NEGLIGIBLE
from purtensor.tables.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A point and the change that makes it a positive solution, to rounding."""

    stand: PartsPoint
    change: PartsChange


def search_parts(store: SlabStore, domain: Domain) -> Proven | Solved | None:
    """Return what Newton's steps lead to, None where they end without a proof; their states are left in the store.

    After each step there is a checkpoint: a search that broke off continues from it, to the same bits.

    Raises
    ------
    BareRowError
        A row that couples the parts has a positive target and no profile.
    """
    space = PartsEvidence(store)
    return search_evidence(space, _recall(store) or _begin(space, domain))


@dataclass(slots=True, eq=False)
class PartsEvidence(PartsSpace):
    """A problem cut into parts, whose candidates are judged by intervals: see `EvidenceSpace`."""

    def signs(self, point: PartsPoint, direction: Direction) -> Signs:
        """Return the evidence from a direction; the cost of lowering it uses the rows of each part."""
        store = self.store
        found = map_reduce(evidence_pass, add_tallies, store.parts, store, point.token, point.outer, direction.solved)
        largest, size = found.largest, float(np.abs(direction.solved).max(initial=0.0))
        return Signs(
            -largest["lowest"],
            largest["highest"],
            max(largest["size"], size),
            found.sums["gain"] + float(store.outer_targets[store.kept] @ direction.solved),
            found.sums["price"],
            -largest["least"],
        )

    def accept(self, point: PartsPoint, change: PartsChange) -> Solved | None:
        """Return a solution to rounding."""
        # w > -1 keeps every mass positive; the misses left are rounding
        met = change.lowest > -1.0 and change.left / self.total <= NEGLIGIBLE
        return Solved(point, change) if met else None

    def weigh(self, point: PartsPoint, direction: Direction, scale: float) -> Proven | None:
        """Return what whole weights prove."""
        return _proof_of(self.store, Guess(point.token, point.outer, direction.solved, True, scale))

    def broken_relation(self) -> Proven | None:
        """Return the proof by a row that others contradict."""
        relations = relations_of(self.store)
        if not relations:
            return None
        # relations have weights on dependent rows too, which `kept` would leave out
        everything, outer = replace(self.store, kept=np.ones_like(self.store.kept)), self.start().outer
        for relation in relations:
            # a relation refutes the targets by whichever sign makes b.t negative
            for sign in (1.0, -1.0):
                found = _proof_of(everything, Guess(START, outer, sign * relation.astype(np.float64), False, 1.0))
                if found is not None and found.infeasible:
                    return found
        return None


def _proof_of(store: SlabStore, guess: Guess) -> Proven | None:
    found = weigh_guess(store, guess)
    return found if found is not None and (found.infeasible or found.empties) else None


def _recall(store: SlabStore) -> State[PartsPoint] | None:
    """Return where an earlier search broke off; None where none did, or where it left something that is not whole."""
    if not store.checkpoint.exists():
        return None
    try:
        state, _ = recall(store)
        # a checkpoint is of use only with all of its states: they are read whole before the search relies on them
        map_each(require_state, store.parts, store, state.point.token)
    except StoreError:
        store.checkpoint.unlink(missing_ok=True)
        return None
    return state


def require_state(number: int, store: SlabStore, token: str) -> None:
    """Raise StoreError where the state of a part is not whole."""
    read_own(store.state(token, number))


def _begin(space: PartsSpace, domain: Domain) -> State[PartsPoint]:
    """Return the state after some sweeps, from which the search in memory begins, too."""
    point = space.start()
    space.refuse_bare_rows(point.tally, domain)
    left = SWEEPS
    while left:
        point, made = space.warm_up(point, None, left)
        left -= made
        here = space.store.state(point.token, 0).parent
        for state in here.parent.iterdir():  # those of other points, also of those that were only tried
            if state != here:
                shutil.rmtree(state, ignore_errors=True)
    return begin(space, point, at_reference=False)


def evidence_pass(number: int, store: SlabStore, token: str, outer: FloatArray, solved: FloatArray) -> Tally:
    """Return the evidence from Newton's direction on a part.

    b.d and what it costs to lower it until C^T d <= 0, over the part's own rows; the extremes of C^T d and of d; the
    smallest mass.
    """
    part, _, masses = open_masses(store, number, token, outer)
    rhs = part.inner_miss(part.sums(masses))
    with np.errstate(all="ignore"):
        direction = extend_from(part, store.kept, masses, rhs, solved)
    change = np.empty_like(masses)
    spread(part.index, part.offsets, direction, change)
    # b.d of the coupling rows is counted once, by the caller
    direction[part.outer_rows()] = 0.0
    highest = np.empty_like(direction)
    # any one inside constraint can lower all profiles: the cheapest counts
    price = min(
        float(repair_price(change, part.index[k], part.targets[part.block(k)], highest[part.block(k)]))
        for k in part.inside
    )
    return Tally(
        {"gain": inner_product(part.targets, direction), "price": price},
        {
            "lowest": -float(change.min()),
            "highest": float(change.max()),
            "size": float(np.abs(direction).max()),
            "least": -float(masses.min()),
        },
    )
