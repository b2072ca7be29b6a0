"""The space of problems cut into parts on disk, as all algorithms see it: its points, and what is proved of them."""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray
from purtensor.kernels.newton.certificate import unevenness
from purtensor.kernels.newton.proof import UNIT
from purtensor.outofcore.array_file import make_folder
from purtensor.outofcore.checkpoint import PartsPoint, keep
from purtensor.outofcore.engine import Tally, map_each
from purtensor.outofcore.parts_points import PartsPoints
from purtensor.outofcore.passes import (
    Floor,
    certificate_pass,
)
from purtensor.outofcore.proof import StoredBasis, find_basis, prove_change, start_at
from purtensor.outofcore.proof_passes import name_rows
from purtensor.solving.certificate import Certificate, certify
from purtensor.solving.hessian.factored import FLOORS, Factor, factorize
from purtensor.solving.run_state import State
from purtensor.solving.spaces.space import Sums


class PartsChange(NamedTuple):
    """See `Change`: m lies in the state `change.number`."""

    point: PartsPoint
    floor: Floor | None
    scale: float
    factor: Factor
    tally: Tally
    number: int
    left: float
    uneven: float

    @property
    def token(self) -> str:
        """The state in which it lies, as `made`."""
        return f"change.{self.number}"

    @property
    def lowest(self) -> float:
        """The smallest w, or 0."""
        return -self.tally.largest["lowest"]

    @property
    def miss(self) -> float:
        """What p (1 + w) misses in the worst constraint, L1, as scaled."""
        return self.left


@dataclass(slots=True, eq=False)
class PartsSpace(PartsPoints):
    """A problem cut into parts: see `purtensor.solving.spaces.space` for what each method returns."""

    _first: tuple[PartsPoint, Tally] | None = None
    _proof: tuple[str, Certificate] | None = None
    _basis: tuple[PartsPoint, StoredBasis | None] | None = None

    # --- what is proved of a point
    def scale_point(self, point: PartsPoint) -> tuple[PartsPoint, float]:
        return point, UNIT  # every pass scales the masses that it reads; on disk they stay as they are

    def first_change(self, point: PartsPoint, floor: float) -> PartsChange | None:
        raised, scale = self._floor(floor), self.total / self.mass(point)
        first = self._pass_certificate(point, raised, scale, None, 0)
        # this pass has summed the divergence on its way: kept, it saves another
        self._first = (point, first)
        return self._make_change(point, raised, scale, factorize(first.sums["matrix"]), first, 0)

    def refine(self, change: PartsChange) -> PartsChange:
        return self._make_change(change.point, change.floor, change.scale, change.factor, change.tally, change.number)

    def _make_change(
        self, point: PartsPoint, raised: Floor | None, scale: float, factor: Factor, before: Tally, number: int
    ) -> PartsChange:
        store = self.store
        # dependent rows follow from the kept ones, and would make the system singular
        rhs = (store.outer_targets - before.sums["outer"])[store.kept]
        tally = self._pass_certificate(point, raised, scale, factor.solve(rhs + before.sums["vector"]), number + 1)
        l1 = np.array(tally.sums["l1"])
        for k, rows in store.outer_blocks.items():
            l1[k] = np.abs(tally.sums["outer"][rows] - store.outer_targets[rows]).sum()
        uneven = tally.sums["uneven"] + unevenness(store.outer_targets - tally.sums["outer"], store.outer_targets)
        return PartsChange(point, raised, scale, factor, tally, number + 1, float(l1.max()), math.sqrt(uneven))

    def _pass_certificate(
        self, point: PartsPoint, raised: Floor | None, scale: float, solved: FloatArray | None, number: int
    ) -> Tally:
        tokens = (f"change.{number - 1}", f"change.{number}")
        return self._pass(certificate_pass, point.token, point.outer, scale, solved, tokens, raised)

    def sums(self, point: PartsPoint, change: PartsChange) -> Sums | None:
        # one search of a basis for all refinements of a change: it depends on the masses alone
        if self._basis is None or self._basis[0] is not point:
            at = start_at(self.store, point.token, point.outer, change.scale, change.token)
            self._basis = point, find_basis(at)
        basis = self._basis[1]
        return None if basis is None else prove_change(basis, change.token, self.total)

    def _sum_divergence(self, point: PartsPoint) -> float:
        if self._first is not None and self._first[0].token == point.token:
            return float(self._first[1].sums["divergence"])
        return PartsPoints._sum_divergence(self, point)

    def proof(self, point: PartsPoint, *, at_last: bool = False) -> Certificate:
        """Return what can be proved of a point, kept with its witness; `at_last` with more effort."""
        if self._proof is not None and self._proof[0] == point.token and (self._proof[1].certified or not at_last):
            return self._proof[1]
        # both hold sums of an earlier point
        self._first = self._basis = None
        kept: list[PartsChange] = []
        found = certify(self, point, FLOORS if at_last else (), kept)
        self._witness(point, kept[-1] if kept else None)
        self._proof = point.token, found
        return found

    def _witness(self, point: PartsPoint, change: PartsChange | None) -> None:
        witness = self.store.witness(point.token)
        shutil.rmtree(witness, ignore_errors=True)
        if change is not None:
            make_folder(witness.parent)
            # moved, not copied: it is as large as the potentials
            os.replace(self.store.state(change.token, 0).parent, witness)
            if self._basis is not None and self._basis[1] is not None:
                map_each(name_rows, self.store.parts, self._basis[1].at)
        for state in self.store.states.glob("change.*"):
            shutil.rmtree(state, ignore_errors=True)

    # --- a run
    def keep(self, state: State[PartsPoint]) -> None:
        # tries are counted within an iteration: its own number is part of their names
        self._made = 0
        token = state.point.token
        keep(self.store, state, self.options)
        if self._proof is not None and self._proof[0] != token:  # of a point that is left
            shutil.rmtree(self.store.witness(self._proof[0]), ignore_errors=True)
            self._proof = None
