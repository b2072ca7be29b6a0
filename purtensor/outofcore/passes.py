"""What one pass over the slabs of a part does: sweeps, Newton steps, and the certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels.divergence import divergence_sum
from purtensor.kernels.ipf.log_domain_sweeps import sweep_in_logarithms
from purtensor.kernels.ipf.steps import scale_and_sum, sum_rows, take_factors
from purtensor.kernels.newton.certificate import certificate_sums, unevenness, weigh
from purtensor.kernels.newton.line_search import curvature, largest_absolute
from purtensor.kernels.reductions import inner_product, spread
from purtensor.outofcore.array_file import read_own, read_packed
from purtensor.outofcore.engine import Tally
from purtensor.outofcore.part import Part, extend_from, read_part, reduce_to
from purtensor.outofcore.slab_store import SlabStore
from purtensor.solving.iterate import log_factors
from purtensor.solving.stopping import EMPTIED_SHARE

START = "start"
"""The token of the reference itself: no state is stored for it."""


def open_part(store: SlabStore, number: int, token: str, outer: FloatArray) -> tuple[Part, FloatArray]:
    """Return a part and the potentials of all its rows at a point."""
    part = read_part(store, number)
    if not store.inside:
        return part, outer.copy()
    if token == START:
        potentials = np.zeros_like(part.targets)
        if 0 in store.inside:
            # a shift of one constraint's rows scales the reference to the total of the targets
            potentials[part.block(0)] = store.start_shift
    else:
        potentials = read_own(store.state(token, number)).arrays["potentials"]
    # the driver's are the valid ones: outer steps move on without writing the parts' states
    potentials[part.outer_rows()] = outer
    return part, potentials


def open_masses(store: SlabStore, number: int, token: str, outer: FloatArray) -> tuple[Part, FloatArray, FloatArray]:
    """Return a part, the potentials of all its rows at a point, and its masses there."""
    part, potentials = open_part(store, number, token, outer)
    return part, potentials, part.masses(potentials)


@dataclass(frozen=True, slots=True, eq=False)
class Floor:
    """What is added to every mass for Newton's equations: a part of an even share of the targets.

    `profiles` counts those of each row that couples the parts.
    """

    share: float
    profiles: IntArray

    def raise_masses(self, part: Part, masses: FloatArray) -> FloatArray:
        """Return the masses of a part, raised."""
        return masses + self.share * part.even_shares(self.profiles)


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """A Newton step: where it starts, the solution on the kept outer rows, how much of it, and what raises masses."""

    outer: FloatArray
    solved: FloatArray
    step: float
    floor: Floor | None = None


def sweep_pass(
    number: int,
    store: SlabStore,
    token: str,
    outer: FloatArray,
    steps: Sequence[int],
    new_token: str,
    assemble: bool = False,
) -> Tally:
    """Do the steps of inside constraints on a part, after those that `outer` holds already; write the potentials."""
    part, potentials = open_part(store, number, token, outer)
    make = _sweep_in_logarithms if store.spans_the_range else _sweep
    gained, masses = make(part, potentials, steps)
    store.write_state(new_token, number, {"potentials": potentials})
    if assemble:
        masses = part.masses(potentials)
    found = _measure(store, part, potentials, masses)
    rhs = found.sums.pop("rhs")
    if assemble:
        # Newton's system comes along in the same pass, where the sweep is the last before its steps
        found.sums["matrix"], found.sums["vector"] = reduce_to(part, store.kept, masses, rhs)
    found.sums["gained"] = gained
    return found


def _sweep(part: Part, potentials: FloatArray, steps: Sequence[int]) -> tuple[float, FloatArray]:
    """Change the potentials of a part by steps of inside constraints; return what the dual gains, and the masses."""
    masses = part.masses(potentials)
    factors = np.ones_like(potentials)
    gained = 0.0
    ignored = np.empty(1)
    nowhere = np.zeros(len(masses), dtype=np.uint8)
    for k in steps:
        rows = part.block(k)
        sums, factor = np.empty(rows.stop - rows.start), np.empty(rows.stop - rows.start)
        sum_rows(masses, part.index[k], sums)
        gained += take_factors(part.targets[rows], sums, factor, factors[rows])
        scale_and_sum(masses, part.index[k], factor, nowhere, ignored)
    potentials += log_factors(factors)
    return gained, masses


def _sweep_in_logarithms(part: Part, potentials: FloatArray, steps: Sequence[int]) -> tuple[float, FloatArray]:
    """Do as `_sweep` where factors and sums may leave the range of float64."""
    profiles, rows = len(part.reference), len(potentials)
    with np.errstate(divide="ignore"):  # targets of 0, of rows that couple the parts
        log_targets = np.log(part.targets)
    gained = sweep_in_logarithms(
        np.log(part.reference),
        part.index,
        part.offsets,
        part.targets,
        log_targets,
        np.array(steps, dtype=np.int64),
        potentials,
        np.empty(profiles),
        np.empty(rows),
        np.empty(rows),
        1.0,
    )
    return gained, part.masses(potentials)


def newton_pass(
    number: int, store: SlabStore, token: str, outer: FloatArray, move: Move | None, new_token: str
) -> Tally:
    """Apply a Newton step to a part, write its potentials, and return the sums that the next step needs.

    The system is assembled at the new point on the chance that the step is taken: then an iteration is one pass.
    """
    part, potentials = open_part(store, number, token, outer if move is None else move.outer)
    way: dict[str, float] = {}
    largest = 0.0
    if move is not None:
        masses = part.masses(potentials)
        rhs = part.inner_miss(part.sums(masses))
        weights = masses if move.floor is None else move.floor.raise_masses(part, masses)
        # back-substitution needs the masses before the step, so they are made anew instead of being stored
        direction = extend_from(part, store.kept, weights, rhs, move.solved)
        change = np.empty_like(masses)
        spread(part.index, part.offsets, direction, change)
        largest = largest_absolute(change)
        way = {"slope": inner_product(rhs, direction), "curvature": curvature(masses, change, move.step)}
        # only the inside rows of the direction count: the outer ones are overwritten by what the driver computed
        potentials = potentials + move.step * direction
        potentials[part.outer_rows()] = outer
        store.write_state(new_token, number, {"potentials": potentials})
    masses = part.masses(potentials)
    found = _measure(store, part, potentials, masses)
    matrix, vector = reduce_to(part, store.kept, masses, found.sums.pop("rhs"))
    found.sums.update(way, matrix=matrix, vector=vector)
    found.largest["change"] = largest
    return found


def measure_pass(number: int, store: SlabStore, token: str, outer: FloatArray) -> Tally:
    """Return the marginals, misses and mass of a part at the current iterate."""
    found = _measure(store, *open_masses(store, number, token, outer))
    del found.sums["rhs"]
    return found


def profiles_pass(number: int, store: SlabStore) -> Tally:
    """Count the profiles of a part in each row that couples the parts."""
    part = read_part(store, number)
    counts = [np.bincount(part.index[k], minlength=part.block(k).stop - part.block(k).start) for k in part.outside]
    return Tally({"profiles": np.concatenate(counts) if counts else np.empty(0, dtype=np.int64)})


def raise_pass(number: int, store: SlabStore, token: str, outer: FloatArray, floor: Floor) -> Tally:
    """Return the sums of a part for a Newton step with increased masses."""
    part, _, masses = open_masses(store, number, token, outer)
    rhs = part.inner_miss(part.sums(masses))
    matrix, vector = reduce_to(part, store.kept, floor.raise_masses(part, masses), rhs)
    return Tally({"matrix": matrix, "vector": vector})


def certificate_pass(
    number: int,
    store: SlabStore,
    token: str,
    outer: FloatArray,
    scale: float,
    solved: FloatArray | None,
    tokens: tuple[str, str],
    floor: Floor | None = None,
) -> Tally:
    """Refine the change w that makes a part feasible: apply the last solution, return the remaining misses.

    `scale` brings the masses to the targets' total; `tokens` name the states of the change before and after.
    """
    part, potentials, masses = open_masses(store, number, token, outer)
    mass = float(masses.sum())
    # the rounding of the masses grows with their potentials (notes/certificate.md)
    weight = weigh(masses, part.index, part.offsets, np.abs(potentials))
    raised = None if floor is None else scale * floor.raise_masses(part, masses)
    masses *= scale
    weights = masses if raised is None else raised
    made = np.zeros_like(potentials)
    found: dict[str, Any] = {"weight": weight * mass, "mass": mass, "divergence": 0.0}
    worst = {"lowest": 0.0}
    changed = masses
    if solved is not None:
        before = read_packed(store.state(tokens[0], number)).arrays
        made = before["made"] + extend_from(part, store.kept, weights, before["left"], solved)
        change = np.empty_like(masses)
        spread(part.index, part.offsets, made, change)
        lowest, found["upper"], found["gap"], found["moved"] = certificate_sums(masses, change)
        worst["lowest"] = -lowest
        # the misses are those of the point that is proved, not of the table
        changed = masses * (1.0 + change)
    else:
        # free here, since the masses are at hand; later passes need not repeat it
        found["divergence"] = divergence_terms(part, store, masses)
    sums = part.sums(changed)
    left = part.inner_miss(sums)
    store.write_state(tokens[1], number, {"made": made, "left": left})
    matrix, vector = reduce_to(part, store.kept, weights, left, with_matrix=solved is None)
    worst["inner"], found["l1"] = part.inner_misses(sums)
    found["uneven"] = unevenness(left, part.targets)
    found["outer"], found["vector"] = sums[part.outer_rows()], vector
    if solved is None:
        found["matrix"] = matrix
    return Tally(found, worst)


def divergence_pass(number: int, store: SlabStore, token: str, outer: FloatArray, scale: float) -> float:
    """Return a part's share of the divergence from the reference, `scale` as for the certificate."""
    part, potentials = open_part(store, number, token, outer)
    return divergence_terms(part, store, scale * part.masses(potentials))


def divergence_terms(part: Part, store: SlabStore, masses: FloatArray) -> float:
    """Return the sum of q phi(p / q - 1) over a part, p and q divided by their totals: its share of D(p || q)."""
    return divergence_sum(masses, part.reference, store.total, store.mass)


def _least_emptied(store: SlabStore, part: Part, masses: FloatArray) -> float:
    """Return the smallest share among profiles that have lost all but 1e-7 of their share; inf where none has."""
    shares = masses / store.total
    lost = shares[shares <= EMPTIED_SHARE / store.mass * part.reference]
    return float(lost.min(initial=np.inf))


def _measure(store: SlabStore, part: Part, potentials: FloatArray, masses: FloatArray) -> Tally:
    """Return the marginals that couple the parts, the misses of the others, the mass, and the linear part of the dual.

    `rhs`, the miss of the part's own rows, is to be taken out before tallies are added.
    """
    sums = part.sums(masses)
    largest, l1 = part.inner_misses(sums)
    linear = sum(inner_product(part.targets[part.block(k)], potentials[part.block(k)]) for k in part.inside)
    return Tally(
        {
            "outer": sums[part.outer_rows()],
            "l1": l1,
            "mass": float(masses.sum()),
            "linear": float(linear),
            "rhs": part.inner_miss(sums),
        },
        # tallies keep the largest of these, so the smallest is negated
        {"inner": largest, "emptied": -_least_emptied(store, part, masses)},
        {"outer": part.outer_logarithms(potentials)} if store.spans_the_range else {},
    )
