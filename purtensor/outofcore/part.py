"""One part of a problem that is cut along its slabs: whole slabs, with all that their elimination needs, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.slabs import Slabs
from purtensor.constraints.system import rows_of
from purtensor.feasibility.farkas import spread_whole
from purtensor.kernels.ipf.log_domain_sweeps import add_in_logarithms
from purtensor.kernels.ipf.steps import measure, miss, rebuild_masses
from purtensor.kernels.reductions import spread
from purtensor.outofcore.array_file import read_own, read_packed, write_packed
from purtensor.outofcore.slab_store import SlabStore
from purtensor.solving.hessian.arrowhead import Arrowhead
from purtensor.solving.hessian.bipartite import Bipartite
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import smallest_unsigned

_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The slabs of one part as the kernels of `solving` take them.

    The rows of inside constraints are numbered within the part, those of outside constraints as everywhere.

    Attributes
    ----------
    reference
        Shape (M,): masses on the scale of the whole problem.
    index, offsets, targets
        As in `System`.
    inside, outside
        The constraints whose rows lie in the part alone, and those that couple the parts.
    form
        Newton's equations on the slabs.
    """

    reference: FloatArray
    index: IntArray
    offsets: IntArray
    targets: FloatArray
    inside: tuple[int, ...]
    outside: tuple[int, ...]
    form: Bipartite | Arrowhead

    def block(self, k: int) -> slice:
        """Return where the rows of constraint k stand among all rows of the part."""
        return slice(int(self.offsets[k]), int(self.offsets[k + 1]))

    def outer_rows(self) -> IntArray:
        """Return the numbers of the rows of the outside constraints, in their order."""
        return rows_of(self.offsets, self.outside)

    def masses(self, potentials: FloatArray) -> FloatArray:
        """Return reference * exp(C^T potentials)."""
        found = np.empty_like(self.reference)
        rebuild_masses(self.reference, self.index, self.offsets, potentials, found)
        return found

    def sums(self, masses: FloatArray) -> FloatArray:
        """Return C masses."""
        found = np.empty_like(self.targets)
        measure(masses, self.index, self.offsets, self.targets, found)
        return found

    def outer_logarithms(self, potentials: FloatArray) -> FloatArray:
        """Return the logarithms of the sums of rows that couple the parts, also where these are below float64."""
        logs = np.empty_like(self.reference)
        spread(self.index, self.offsets, potentials, logs)
        logs += np.log(self.reference)
        found, largest = np.empty_like(potentials), np.empty_like(potentials)
        for k in self.outside:
            add_in_logarithms(logs, self.index[k], largest[self.block(k)], found[self.block(k)])
        return found[self.outer_rows()]

    def even_shares(self, profiles: IntArray) -> FloatArray:
        """Return for each profile the least of what its rows' targets give each of their profiles, as in memory.

        `profiles` counts those of the rows that couple the parts.
        """
        # a row that couples parts has profiles in many of them: their number is given
        counts = np.ones_like(self.targets)
        for k in self.inside:
            counts[self.block(k)] = np.bincount(self.index[k], minlength=self.block(k).stop - self.block(k).start)
        counts[self.outer_rows()] = profiles
        # h of Newton's floor: the least even share of any of its rows (notes/newton.md, equation 9)
        shares = np.full_like(self.reference, np.inf)
        for k, row in enumerate(self.index):
            each = self.targets[self.block(k)] / np.maximum(counts[self.block(k)], 1.0)
            np.minimum(shares, each[row], out=shares)
        return shares

    def inner_misses(self, sums: FloatArray) -> tuple[float, FloatArray]:
        """Return the largest miss of an inside target, and the L1 miss of each constraint: 0 for those outside."""
        largest, l1 = 0.0, np.zeros(len(self.offsets) - 1)
        for k in self.inside:
            worst, l1[k] = miss(sums[self.block(k)], self.targets[self.block(k)])
            # Python's max may lose NaN, which must end the run
            largest = max(largest, worst) if np.isfinite(worst) else np.nan
        return largest, l1

    def inner_miss(self, sums: FloatArray) -> FloatArray:
        """Return targets - sums on the inside rows, 0 on the others."""
        left = self.targets - sums
        # what outer rows miss is known to the driver only, after all parts are added
        left[self.outer_rows()] = 0.0
        return left


def write_part(path: Path, part: Part) -> None:
    """Write a part to a file."""
    arrays = {name: getattr(part, name) for name in ("reference", "index", "offsets")}
    # the store has those of the rows that couple the parts: in every part they could outgrow it
    arrays["targets"] = np.delete(part.targets, part.outer_rows())
    facts: dict[str, Any] = {"inside": part.inside, "outside": part.outside}
    form = part.form
    arrays["slab_ptr"] = form.slabs.slab_ptr
    if isinstance(form, Bipartite):
        facts["form"], facts["shape"] = "bipartite", form.shape
        for name in ("code", "primary", "other", "used", "number"):
            arrays[name] = getattr(form, name)
    else:
        facts["form"] = "arrowhead"
        for name in ("places", "kept", "local_ptr", "local_rows", "coupling_ptr", "coupling"):
            arrays[name] = getattr(form, name)
        for name in ("slab_group_ptr", "group_ptr", "primary"):
            arrays[name] = getattr(form.slabs, name)
    write_packed(path, arrays, facts)


def read_part(store: SlabStore, number: int) -> Part:
    """Return a part of a problem."""
    packed = read_own(store.part(number))
    a, facts, kept = packed.arrays, packed.facts, store.kept
    inside, outside = tuple(facts["inside"]), tuple(facts["outside"])
    slabs = Slabs(
        (),
        inside,
        outside,
        a["slab_ptr"],
        a.get("slab_group_ptr", _NONE),
        a.get("group_ptr", _NONE),
        a["primary"] if facts["form"] == "arrowhead" else _NONE,
        _NONE,
    )
    coupling_rows, rows = rows_of(a["offsets"], outside), int(a["offsets"][-1])
    targets = a["targets"] if inside else store.outer_targets
    if len(targets) < rows:  # parts of earlier versions have all of them
        targets = np.empty(rows)
        targets[coupling_rows] = store.outer_targets
        targets[np.delete(np.arange(rows), coupling_rows)] = a["targets"]
    form: Bipartite | Arrowhead
    if facts["form"] == "bipartite":
        # products of dependent coupling rows need not be formed: they are -1 like no row; the last is of no row
        place = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        coupled = place[a["number"]]
        form = Bipartite(
            slabs,
            a["code"],
            a["primary"],
            a["other"],
            a["used"],
            np.flatnonzero(coupled.reshape(-1) >= 0),
            coupled,
            coupling_rows[kept],
            rows,
            (int(facts["shape"][0]), int(facts["shape"][1])),
            "",
            ((0, slabs.count),),
        )
    else:
        form = Arrowhead(
            slabs,
            np.empty(0, dtype=bool),
            a["places"],
            a["kept"],
            a["local_ptr"],
            a["local_rows"],
            a["coupling_ptr"],
            a["coupling"],
            coupling_rows,
            rows,
            "",
        )
    return Part(a["reference"], a["index"], a["offsets"], targets, inside, outside, form)


def reduce_to(
    part: Part, kept: BoolArray, masses: FloatArray, rhs: FloatArray, *, with_matrix: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Return the part's share of the coupling matrix (upper triangle) and right-hand side, over the kept rows."""
    matrix, vector = part.form.reduce(masses, rhs, with_matrix=with_matrix)
    if isinstance(part.form, Bipartite):
        return matrix, vector
    # the arrowhead multiplies all rows; its layout on disk knows nothing of `kept`, which a face changes
    return matrix[np.ix_(kept, kept)], vector[kept]


def extend_from(
    part: Part, kept: BoolArray, masses: FloatArray, rhs: FloatArray, solved: Sequence[float] | FloatArray
) -> FloatArray:
    """Return the solution on all rows of the part, given it on the kept coupling rows."""
    if isinstance(part.form, Bipartite):
        return part.form.extend(masses, rhs, np.asarray(solved))
    # dependent rows keep the potential 0: any solution with the same C^T m will do
    everywhere = np.zeros(len(kept))
    everywhere[kept] = solved
    return part.form.extend(masses, rhs, everywhere)


def write_weights(folder: Path, number: int, part: Part, weights: IntArray) -> int:
    """Write whole numbers t on the rows of a part, and C^T t of its profiles; return the file's checksum."""
    costs = spread_whole(part.index, part.offsets, weights)
    return write_packed(folder / f"{number:06d}", {"weights": weights, "costs": costs})


def read_labels(store: SlabStore, number: int) -> tuple[list[IntArray], int, FloatArray]:
    """Return the codes of the profiles of a part, how many are of the problem, and the values of those after them."""
    labels = read_packed(store.labels(number))
    count = len(labels.arrays) - 1
    codes = [labels.arrays[f"codes_{k}"].astype(np.int64) for k in range(count)]
    return codes, int(labels.facts["profiles"]), labels.arrays["left_out"]


def write_labels(
    path: Path, codes: Sequence[IntArray], sizes: Sequence[int], left_out: FloatArray, profiles: int
) -> None:
    """Write the codes of the profiles of a part, those of the problem first, and the values of the others."""
    arrays: dict[str, Any] = {
        f"codes_{k}": code.astype(smallest_unsigned(size))
        for k, (code, size) in enumerate(zip(codes, sizes, strict=True))
    }
    write_packed(path, {**arrays, "left_out": left_out}, {"profiles": profiles})


def codes_of_rows(
    store: SlabStore, domain: Domain, part: Part, codes: Sequence[IntArray], k: int
) -> tuple[IntArray, ...]:
    """Return the codes of the rows of a constraint in a part, given those of its profiles.

    Each row of an inside constraint has a profile there; of one outside these are all rows.
    """
    if k in store.outside:
        return store.outer_codes[store.outside.index(k)]
    # any profile of a row has the row's labels
    _, first = np.unique(part.index[k], return_index=True)
    return tuple(codes[domain.position(name)][first] for name in store.scopes[k])
