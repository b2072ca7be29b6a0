"""Where a run on disk begins when an earlier projection, or its potentials, are given to start from."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError
from purtensor.outofcore.array_file import read_packed
from purtensor.outofcore.checkpoint import PartsPoint
from purtensor.outofcore.engine import map_each, map_reduce
from purtensor.outofcore.part import codes_of_rows, read_labels, read_part
from purtensor.outofcore.partition import gather, write_scattered
from purtensor.outofcore.parts_space import PartsSpace
from purtensor.outofcore.passes import open_part
from purtensor.outofcore.result import SlabEvidence
from purtensor.outofcore.slab_store import SlabStore
from purtensor.projection.options import read_start
from purtensor.projection.result import Projection, as_stored
from purtensor.solving.loop import begin
from purtensor.solving.run_state import State
from purtensor.tables.coded import domain_of
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import group_profiles
from purtensor.tables.translate import category_map, find_rows, values_at


def begin_from(space: PartsSpace, domain: Domain, start: Any) -> State[PartsPoint]:
    """Return the stand of a run that begins at earlier potentials, scaled so that the masses have the targets' total.

    They serve the constraint of the same scope, row by row by label; rows that they do not know begin at 0.

    Parameters
    ----------
    start
        A Projection, on disk or in memory, or a sequence of tables of potentials.

    Raises
    ------
    InvalidOptionError
        Something else, tables over other attributes than the constraints', or potentials at which the masses are not
        finite, or all zero.
    """
    store = space.store
    folder = store.folder / "start"
    # iteration 0 of this run, so that what follows counts on from it
    token = f"00000000.{space.options['run']}.start"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        # inside rows are scattered to parts on disk like targets: the earlier run may have been cut otherwise
        outer = bring_potentials(store, domain, start, folder)
        # a first pass with shift 0 measures the mass; where the shift belongs to inside rows it is written again
        mass: float = map_reduce(start_pass, math.fsum, store.parts, store, domain, folder, outer, 0.0, token)
        if not 0.0 < mass < np.inf:
            raise InvalidOptionError(
                f"the potentials in start give a total mass of {mass}; start from the reference instead"
            )
        shift = float(np.log(store.total / mass))
        # the shift of the first constraint scales all masses; outside rows are at hand, and cost no pass
        if 0 in store.outside:
            outer[store.outer_blocks[0]] += shift
        else:
            map_each(start_pass, store.parts, store, domain, folder, outer, shift, token)
        point = space.measure_at(token, outer)
        space.refuse_bare_rows(point.tally, domain)
        state = begin(space, point, at_reference=False)
        space.keep(state)
        return state
    except BaseException:
        # half-written states of a start must not be found by a later run
        shutil.rmtree(store.state(token, 0).parent, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def bring_potentials(store: SlabStore, domain: Domain, start: Any, folder: Path) -> FloatArray:
    """Return the potentials of the rows that couple the parts; those of the others are scattered into folders."""
    # where all rows couple the parts, those that an earlier run has on disk are read as well
    begun = as_stored(start).evidence if isinstance(start, Projection) and store.inside else None
    slabs = begun if isinstance(begun, SlabEvidence) else None
    tables = read_start(start, store.scopes) if slabs is None else list(slabs.coupling_potentials)
    outer = np.zeros(len(store.outer_targets))
    part_of = read_packed(store.folder / "cut").arrays["part_of"]
    for k, scope in enumerate(store.scopes):
        table = take_table(tables, scope)
        if k in store.outside and table is not None:
            codes = store.outer_codes[store.outside.index(k)]
            outer[store.outer_blocks[k]] = values_at(table, domain.select(scope), codes)
        elif k in store.inside and table is not None:
            rows = find_rows(table, domain.select(scope))
            _scatter_rows(store, domain, k, *rows, folder / f"{k}" / "given", part_of)
        elif k in store.inside and slabs is not None:
            _scatter_parts(store, domain, k, slabs, folder / f"{k}", part_of)
    # -inf of zero targets, whose rows may have targets now
    outer[~np.isfinite(outer)] = 0.0
    return outer


def take_table(tables: list[Table], scope: Sequence[str]) -> Table | None:
    """Return the first table over these attributes, which then serves no other constraint."""
    for position, table in enumerate(tables):
        if set(domain_of(table).attributes) == set(scope):
            return tables.pop(position)
    return None


def _scatter_rows(
    store: SlabStore,
    domain: Domain,
    k: int,
    columns: Sequence[IntArray],
    values: FloatArray,
    path: Path,
    part_of: IntArray,
) -> None:
    """Bring potentials of an inside constraint to the parts whose slabs they belong to."""
    # an inside scope contains the key, so each row knows its part
    key = [store.scopes[k].index(name) for name in store.key]
    write_scattered(path, columns, values, key, domain.select(store.key).sizes, part_of)


def _scatter_parts(
    store: SlabStore, domain: Domain, k: int, start: SlabEvidence, folder: Path, part_of: IntArray
) -> None:
    """Bring the potentials of an earlier run's parts to the parts of this one."""
    scope = store.scopes[k]
    old = [j for j in start.store.inside if set(start.store.scopes[j]) == set(scope)]
    if old:
        map_each(
            move_potentials,
            start.store.parts,
            store,
            domain,
            k,
            start.store,
            start.reference.domain,
            old[0],
            (start.token, start.outer),
            folder,
            part_of,
        )


def move_potentials(
    number: int,
    store: SlabStore,
    domain: Domain,
    k: int,
    old: SlabStore,
    old_domain: Domain,
    old_k: int,
    point: tuple[str, FloatArray],
    folder: Path,
    part_of: IntArray,
) -> None:
    """Bring the potentials of one part of an earlier run, of constraint `old_k`, to the parts of this one."""
    part, potentials = open_part(old, number, *point)
    # by label, since the earlier run may have been cut otherwise, over other categories
    codes = codes_of_rows(old, old_domain, part, read_labels(old, number)[0], old_k)
    columns = []
    for name in store.scopes[k]:
        categories = [onto.categories[onto.position(name)] for onto in (old_domain, domain)]
        columns.append(category_map(*categories)[codes[old.scopes[old_k].index(name)]])
    # rows of categories that this problem lacks are left out
    known = np.all([column >= 0 for column in columns], axis=0)
    values = potentials[part.block(old_k)][known]
    _scatter_rows(store, domain, k, [column[known] for column in columns], values, folder / f"{number:06d}", part_of)


def start_pass(
    number: int,
    store: SlabStore,
    domain: Domain,
    brought: Path,
    outer: FloatArray,
    shift: float,
    token: str,
) -> float:
    """Write the potentials that a part starts from, the first constraint's raised by `shift`; return the mass there."""
    part = read_part(store, number)
    potentials = np.zeros_like(part.targets)
    codes, _, _ = read_labels(store, number)
    for k in store.inside:
        folder = brought / f"{k}"
        if any(folder.glob("*.where")):
            wanted = codes_of_rows(store, domain, part, codes, k)
            potentials[part.block(k)] = _match(wanted, *gather(folder, number), domain.select(store.scopes[k]).sizes)
        if k == 0:
            potentials[part.block(k)] += shift
    potentials[~np.isfinite(potentials)] = 0.0
    potentials[part.outer_rows()] = outer
    store.write_state(token, number, {"potentials": potentials})
    return float(part.masses(potentials).sum())


def _match(
    wanted: Sequence[IntArray], codes: Sequence[IntArray], values: FloatArray, sizes: Sequence[int]
) -> FloatArray:
    """Return the value of each requested row, 0 for missing rows."""
    group, distinct = group_profiles([np.concatenate(pair) for pair in zip(wanted, codes, strict=True)], sizes)
    found = np.zeros(len(distinct[0]))
    count = len(wanted[0])
    found[group[count:]] = values
    matched: FloatArray = found[group[:count]]
    return matched
