"""From a stored table and constraints to slabs on disk: checked, cut once, and found again."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.marginals import Marginal, StoredMarginal
from purtensor.constraints.rank.echelon import primes
from purtensor.errors import (
    InconsistentTargetsError,
    InfeasibleError,
    InvalidTableError,
    NoSlabsError,
    StoreError,
    TooLargeError,
)
from purtensor.outofcore.array_file import make_folder, write_packed
from purtensor.outofcore.engine import PART_OPTION, map_each, map_reduce, profiles_per_part, workers
from purtensor.outofcore.part_layout import Gathered, Recipe, add_parts, gather_part
from purtensor.outofcore.partition import (
    add_census,
    exponent_of,
    nats_left_out,
    parts_of_buckets,
    scatter,
    take_census,
)
from purtensor.outofcore.slab_store import SlabStore, read_store, write_store
from purtensor.outofcore.targets import (
    BareRowError,
    Constraint,
    align_target,
    check_stored_consistency,
    list_uncompared,
    most_rows,
    outer_rows,
    scatter_target,
)
from purtensor.outofcore.workspace import problem_name, remove_on_error
from purtensor.solving.hessian.choice import LARGEST_DENSE
from purtensor.tables.domain import Domain, describe_profile
from purtensor.tables.grouping import smallest_unsigned
from purtensor.tables.memory import readable, require_memory
from purtensor.tables.store.table import StoredTable
from purtensor.tables.store.write import store_table

MOST_ROWS = 1 << 22
"""Rows that the driver holds without slabs: a few dozen vectors of that length, and each part gives back one."""


def slab_key(scopes: Sequence[tuple[str, ...]], rows: Sequence[int], sizes: dict[str, int]) -> tuple[str, ...]:
    """Return the slab key that leaves the fewest rows outside; among equals the one with the most combinations.

    Raises
    ------
    NoSlabsError
        Even the best key leaves more rows than a dense matrix takes.
    """
    sets = [frozenset(scope) for scope in scopes]
    candidates = sorted({one & other for one in sets for other in sets} - {frozenset()}, key=sorted)

    def outside(key: frozenset[str]) -> int:
        return sum(count for count, scope in zip(rows, sets, strict=True) if not key <= scope)

    # rows outside cost a dense matrix; among equals more slabs are smaller ones
    best = min(candidates, key=lambda key: (outside(key), -math.prod(sizes[name] for name in key)))
    if outside(best) > LARGEST_DENSE:
        raise NoSlabsError(
            f"no attributes divide these constraints into slabs: even ({', '.join(sorted(best))}) leaves "
            f"{outside(best)} "
            f"target rows that couple the slabs, at most {LARGEST_DENSE} are possible; use solver=LBFGS(), load the "
            "table in memory (to_table), where conjugate gradients serve, or ask for marginals that share a large "
            "attribute"
        )
    # in the order of a scope, as a set has none
    scope = next(scope for scope in scopes if best <= set(scope))
    return tuple(name for name in scope if name in best)


def slab_store_of(
    reference: StoredTable, constraints: Sequence[Constraint], part_profiles: int | None, *, by_rows: bool = False
) -> SlabStore:
    """Return the problem cut into parts on disk; made when it is not there yet.

    With `by_rows` it needs no slabs: the parts are of any profiles, and all rows couple them.

    Raises
    ------
    NoSlabsError, TooLargeError, StoreError
        It cannot be cut, or memory or disk do not suffice: before anything is written.
    UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError, InvalidTableError, InfeasibleError
        What does not fit, as for tables in memory.
    """
    domain = reference.domain
    for constraint in constraints:
        domain.select(constraint.scope)
    sizes = dict(zip(domain.attributes, domain.sizes, strict=True))
    rows = [most_rows(constraint, reference) for constraint in constraints]
    scopes = tuple(constraint.scope for constraint in constraints)
    if by_rows:
        _require_few_rows(sum(rows))
    key = () if by_rows else slab_key(scopes, rows, sizes)
    most = part_profiles or profiles_per_part()
    folder = reference.workspace / problem_name(reference, constraints, f"rows {most}" if by_rows else most)
    # written last: where it is, all parts are whole
    if (folder / "problem").exists():
        found = read_store(folder)
        if found.smallest > 0.0:  # else an earlier version cut it, which may have lost masses
            return found
    _require_room(reference, len(scopes), min(most, reference.profiles))
    # a constraint that contains the key has each of its rows in one slab
    inside = [k for k, scope in enumerate(scopes) if key and set(key) <= set(scope)]
    settled = [c if k in inside or isinstance(c, Marginal) else c.in_memory() for k, c in enumerate(constraints)]
    check_stored_consistency(settled)
    with remove_on_error(folder):
        make_folder(folder)
        sources = tuple(_keep_target(folder, k, constraint) for k, constraint in enumerate(constraints))
        store = _cut(reference, settled, folder, key, inside, most, sources)
        write_store(store)
    for part in folder.glob("scattered*"):
        shutil.rmtree(part, ignore_errors=True)
    return store


def _require_few_rows(rows: int) -> None:
    if rows > MOST_ROWS:
        raise TooLargeError(
            f"these constraints may have {rows} rows, but L-BFGS on disk holds at most {MOST_ROWS} in memory; "
            "use marginals that share a large attribute, which divides the problem into slabs",
            8 * rows,
            8 * MOST_ROWS,
        )


def _keep_target(folder: Path, k: int, constraint: Constraint) -> tuple[str, bool]:
    """Keep a target beside the slabs, so that a run can be resumed from its folder alone; return where it lies."""
    if isinstance(constraint, StoredMarginal):
        return str(constraint.table.path.resolve()), False
    path = folder / "targets" / f"{k}.zarr"
    store_table(constraint.target, path)
    return str(path), True


def _require_room(reference: StoredTable, constraints: int, part: int) -> None:
    """Refuse what memory or disk cannot hold, before anything is written."""
    attributes = len(reference.domain.attributes)
    who = workers()
    # bytes a profile: three int64 for each attribute and each constraint, and eight numbers beside
    making = part * (24 * attributes + 24 * constraints + 64) * who.at_once
    advice = f"set dask's num_workers to fewer threads, or its {PART_OPTION} to fewer profiles"
    if who.memory is not None and making > who.memory:
        raise TooLargeError(
            f"{who.at_once} parts of {part} profiles at once need {making} bytes ({readable(making)}) of a worker, but "
            f"it has {readable(who.memory)}; {advice}",
            making,
            who.memory,
        )
    if who.memory is None:
        require_memory(making, f"work on {who.at_once} parts of {part} profiles at once", advice)
    labels = sum(smallest_unsigned(size).itemsize for size in reference.domain.sizes)
    # bytes a profile: its codes scattered and as labels, a row index for each constraint, and five numbers
    disk = reference.profiles * (2 * labels + 4 * constraints + 40)
    # the workspace may not exist yet: the disk is that of its first folder that does
    place = next(one for one in (reference.workspace, *reference.workspace.parents) if one.exists())
    free = shutil.disk_usage(place).free
    if disk > free:
        raise StoreError(
            f"the slabs of {reference.profiles} profiles need {disk} bytes ({readable(disk)}) on the disk of {place}, "
            f"but {readable(free)} are free; open the table with another workspace"
        )


def _cut(
    reference: StoredTable,
    constraints: Sequence[Constraint],
    folder: Path,
    key: tuple[str, ...],
    inside: Sequence[int],
    most: int,
    sources: tuple[tuple[str, bool], ...],
) -> SlabStore:
    domain = reference.domain
    # without a key any division serves: by all attributes it is even
    where = [domain.position(name) for name in key or domain.attributes]
    key_sizes = [domain.sizes[k] for k in where]
    census = map_reduce(take_census, add_census, reference.bounds, reference.path, where, key_sizes)
    if not census.positive:
        raise InvalidTableError("the table is empty: at least one profile must have positive mass")
    part_of = parts_of_buckets(census.buckets, most)
    write_packed(folder / "cut", {"part_of": part_of})
    everything = list(range(len(domain.attributes)))
    map_each(
        scatter,
        reference.bounds,
        reference.path,
        folder / "scattered",
        everything,
        [None] * len(everything),
        where,
        key_sizes,
        part_of,
    )
    target_exponent = math.frexp(constraints[0].total)[1]
    scattered: list[Path | None] = []
    outer: list[tuple[tuple[IntArray, ...], FloatArray]] = []
    for k, constraint in enumerate(constraints):
        is_own = isinstance(constraint, StoredMarginal) and constraint.table.path == reference.path
        # a target that is the reference's own marginal is summed in each part from the masses there
        scattered.append(None if k not in inside or is_own else folder / f"scattered_{k}")
        if isinstance(constraint, Marginal) and k not in inside:
            codes, targets = align_target(constraint, reference)
            if not key:  # no point has rows of target 0, whose profiles are left out
                codes, targets = [code[targets > 0] for code in codes], targets[targets > 0]
            outer.append(outer_rows(codes, targets, domain.select(constraint.scope).sizes, target_exponent))
        elif scattered[k] is not None:
            scatter_target(constraint, reference, folder / f"scattered_{k}", key, part_of)
    store = SlabStore(
        folder,
        reference.path,
        tuple(c.scope for c in constraints),
        key,
        tuple(inside),
        tuple(k for k in range(len(constraints)) if k not in inside),
        (),
        (),
        np.concatenate([np.empty(0), *(targets for _, targets in outer)]),
        np.empty(0, dtype=bool),
        tuple(codes for codes, _ in outer),
        math.ldexp(constraints[0].total, -target_exponent),
        math.nan,
        # a first guess of the scale, from a pass that is needed anyway; see below
        math.frexp(census.mass)[1],
        target_exponent,
        "",
        sources,
    )
    compared = list_uncompared(constraints, inside, domain)
    recipe = Recipe(store, domain.attributes, domain.sizes, tuple(scattered), next(primes()), compared)
    made = map_each(gather_part, range(int(part_of[-1]) + 1), recipe)
    _refuse_faults(made, store, domain)
    laid = {n: one.laid for n, one in enumerate(made) if one.laid is not None}
    if not laid:
        raise InfeasibleError("no distribution meets the constraints: targets of 0 exclude every profile")
    exponent = exponent_of((one.extent for one in made), store.reference_exponent)
    # masses far below the total would lose digits at the first scale: all parts are made again
    if exponent != store.reference_exponent:
        store = replace(store, reference_exponent=exponent)
        made = map_each(gather_part, range(int(part_of[-1]) + 1), replace(recipe, store=store))
        laid = {n: one.laid for n, one in enumerate(made) if one.laid is not None}
    store = add_parts(store, laid, recipe.prime)
    share = math.ldexp(store.mass, exponent) / census.mass
    stored = tuple(n for n, one in enumerate(made) if one.stored)
    return replace(store, label_parts=stored, nats_left_out=nats_left_out(max(0.0, 1.0 - share), share))


def _refuse_faults(made: Sequence[Gathered], store: SlabStore, domain: Domain) -> None:
    disagreements = [one.disagreement for one in made if one.disagreement is not None]
    if disagreements:
        # the largest over all parts: what is reported must not depend on the cut
        pair, codes, masses = max(disagreements, key=lambda found: abs(found[2][0] - found[2][1]))
        shared = [name for name in store.scopes[pair[0]] if name in store.scopes[pair[1]]]
        where = [f"({', '.join(store.scopes[k])})" for k in pair]
        first, second = (math.ldexp(mass, store.target_exponent) for mass in masses)
        raise InconsistentTargetsError(
            f"{describe_profile(domain.select(shared), codes)!r} is {first!r} in {where[0]} but {second!r} in "
            f"{where[1]}"
        )
    for one in made:
        if one.repeated is not None:
            profile = describe_profile(domain, one.repeated)
            raise InvalidTableError(f"profile ({profile}) is stored twice; sum its values")
        if one.bare is not None:
            k, codes = one.bare
            raise BareRowError(domain, store.scopes[k], k, codes)
