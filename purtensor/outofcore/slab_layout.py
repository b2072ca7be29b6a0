"""The profiles of a part in slab order, with Newton's equations laid out: when a table is cut, and on its faces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.slabs import arrange
from purtensor.constraints.system import System
from purtensor.outofcore.coupling_rank import independent_outer_rows, structure_of
from purtensor.outofcore.part import Part, write_part
from purtensor.solving.hessian.arrowhead import build_arrowhead
from purtensor.solving.hessian.bipartite import build_bipartite


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """The result of laying out a part.

    Attributes
    ----------
    slabs
        How many there are.
    mass, smallest
        Of the reference; its smallest mass, or a target that is smaller still.
    basis
        Of the null vectors of the slabs, summed over the outer rows, modulo the prime; None where nothing couples them.
    """

    slabs: int
    mass: float
    smallest: float
    basis: IntArray | None


def lay_out(
    path: Path, given: System, reference: FloatArray, key: tuple[str, ...], prime: int
) -> tuple[IntArray, Laid]:
    """Write the part of a system whose inside rows all have a profile; return which profile stands where, and more."""
    system, slabs, order = arrange(given, key)
    reference = reference[order]
    independent, vectors = structure_of(system.index, system.offsets, slabs.inside, slabs.outside, slabs.slab_ptr)
    # where coupling rows depend on the cell alone the slabs have a form of their own, which is faster
    form = build_bipartite(system, slabs, independent) or build_arrowhead(system, slabs, independent)
    write_part(path, Part(reference, system.index, system.offsets, system.targets, slabs.inside, slabs.outside, form))
    basis = vectors.span(prime).basis if vectors is not None else None
    smallest = min(float(reference.min()), float(system.targets[system.targets > 0].min()))
    return order, Laid(slabs.count, float(reference.sum()), smallest, basis)


def describe_parts(
    folder: Path,
    laid: Mapping[int, Laid],
    scopes: Sequence[tuple[str, ...]],
    key: Sequence[str],
    inside: Sequence[int],
    outside: Sequence[int],
    outer_codes: Sequence[Sequence[IntArray]],
    prime: int,
) -> dict[str, Any]:
    """Return the fields of a `SlabStore` that follow from its parts, laid out in a folder by their numbers."""
    bases = {folder / "parts" / f"{number:06d}": one.basis for number, one in laid.items()}
    kept = independent_outer_rows(scopes, inside, outside, outer_codes, bases, prime)
    slabs = sum(one.slabs for one in laid.values())
    return {
        "folder": folder,
        "parts": tuple(laid),
        "kept": kept,
        "smallest": min(one.smallest for one in laid.values()),
        "note": f"arrowhead over {' x '.join(key)}: {slabs} slabs in {len(laid)} parts, {kept.sum()} coupling rows",
    }
