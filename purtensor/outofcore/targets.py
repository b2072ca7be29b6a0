"""Targets of a problem that is cut along its slabs: compared with each other, aligned, and brought to their parts."""

from __future__ import annotations

import itertools
import math
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.consistency import check_consistency
from purtensor.constraints.marginals import Marginal, StoredMarginal, flatten
from purtensor.errors import InfeasibleError, NoSlabsError, UnknownCategoryError
from purtensor.outofcore.engine import map_each, require_dask
from purtensor.outofcore.partition import scatter, write_scattered
from purtensor.solving.scaling import scale_targets
from purtensor.tables.domain import Domain, describe_profile
from purtensor.tables.grouping import profile_keys
from purtensor.tables.store.format import read_profiles
from purtensor.tables.store.table import StoredTable, require_mass, sum_stored
from purtensor.tables.store.write import store_table
from purtensor.tables.translate import category_map
from purtensor.verification.stored import Source, misses

Constraint: TypeAlias = "Marginal | StoredMarginal"

_MOST_SHARED = 1 << 20
"""Marginals that two targets share are compared up to so many combinations of categories."""


@contextmanager
def open_problem(reference: Any, constraints: Any) -> Iterator[tuple[StoredTable, tuple[Constraint, ...]]]:
    """Yield what a call on a stored table is about: the table, stored if it is of chunks of dask, and all constraints.

    What was stored for the call is removed if the call ends with an error that carries no result.

    Raises
    ------
    ImportError
        dask is not installed.
    InvalidOptionError
        Something that is not a constraint.
    InvalidTableError
        A table on disk, or of chunks of dask, without mass.
    """
    require_dask()
    flat = flatten(constraints, (Marginal, StoredMarginal))
    for table in (reference, *(constraint.table for constraint in flat if isinstance(constraint, StoredMarginal))):
        if isinstance(table, StoredTable):
            require_mass(table)
    if isinstance(reference, StoredTable):
        yield reference, flat
        return
    import dask  # optional, and slow to import

    parent = dask.config.get("temporary-directory", None) or tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix="purtensor-", dir=parent))
    try:
        stored = store_table(reference, folder / "table.zarr")
        require_mass(stored)
        yield stored, flat
    except BaseException as error:
        # a NotConvergedError or InfeasibleError carries a result whose table must stay readable
        if getattr(error, "projection", None) is None and getattr(error, "diagnosis", None) is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def check_stored_consistency(constraints: Sequence[Constraint]) -> None:
    """Compare totals and shared marginals; of stored targets only marginals with few combinations of categories."""
    given = [c for c in constraints if isinstance(c, Marginal)]
    stored = [c for c in constraints if isinstance(c, StoredMarginal)]
    alike = list(given)
    done = set()
    for constraint in stored:
        others = [set(c.scope) for c in given]
        others += [set(c.scope) for c in stored if c.table.path != constraint.table.path]
        wanted = {tuple(n for n in constraint.scope if n in other) for other in others}
        for names in sorted(wanted or {()}):
            small = [n for n in names or constraint.scope if constraint.table.domain.select([n]).size <= _MOST_SHARED]
            if constraint.table.domain.select(names).size > _MOST_SHARED or not names:
                # at least one attribute, so that the totals are compared
                small = small[:1]
            if small and (constraint.table.path, tuple(small)) not in done:
                done.add((constraint.table.path, tuple(small)))
                # small marginals of stored targets stand for them: their totals are compared with them
                alike.append(Marginal(sum_stored(constraint.table, tuple(small))))
    if len(alike) > 1:
        check_consistency(alike)


def list_uncompared(
    constraints: Sequence[Constraint], inside: Sequence[int], domain: Domain
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of inside constraints that share more than is compared before the table is cut."""
    found = []
    for one, two in itertools.combinations(inside, 2):
        tables = [c.table.path if isinstance(c, StoredMarginal) else None for c in (constraints[one], constraints[two])]
        shared = [name for name in constraints[one].scope if name in constraints[two].scope]
        # marginals of one table agree by themselves
        if tables[0] != tables[1] and domain.select(shared).size > _MOST_SHARED:
            found.append((one, two))
    return tuple(found)


def align_target(constraint: Marginal, reference: StoredTable) -> tuple[list[IntArray], FloatArray]:
    """Return a target in the reference's categories, all checked to be known on both sides."""
    columns = []
    coded = constraint.coded
    for name, known, own in zip(constraint.scope, coded.domain.categories, coded.codes, strict=True):
        categories = reference.domain.categories[reference.domain.position(name)]
        columns.append(_map_categories(name, known, categories, reference)[own])
        lost = columns[-1] < 0
        if lost.any():
            raise UnknownCategoryError.with_mass(
                known[own[lost][0]], name, categories, of="the target", lacks="the reference"
            )
    return columns, coded.values


def _map_categories(name: str, known: pd.Index[Any], categories: pd.Index[Any], reference: StoredTable) -> IntArray:
    """Return the codes of a target's categories in the reference; refuse those of the reference that it lacks."""
    mapping = category_map(known, categories)
    reached = np.zeros(len(categories), dtype=bool)
    reached[mapping[mapping >= 0]] = True
    if not reached.all():
        # only categories with mass must be known: a pass is made for them where some are missing
        mass = sum_stored(reference, (name,))
        codes = np.asarray(mass.indexes["profile"].codes[0])
        lost = codes[~reached[codes]]
        if len(lost):
            raise UnknownCategoryError.with_mass(
                categories[lost[0]], name, known, of="the reference", lacks="the target"
            )
    return mapping


class BareRowError(InfeasibleError):
    """A row of a constraint with a positive target, and no profile of the support.

    Attributes
    ----------
    constraint, codes
        The position of the constraint, and the codes of the row in the reference's categories.
    """

    def __init__(self, domain: Domain, scope: Sequence[str], constraint: int, codes: Sequence[int]) -> None:
        self.constraint = constraint
        self.codes = tuple(int(code) for code in codes)
        self.row = describe_profile(domain.select(scope), self.codes)
        super().__init__(
            f"no distribution meets the constraints: {self.row} has a positive target over ({', '.join(scope)}), but "
            "its support is empty"
        )


def refuse_bare_rows(
    bare: BoolArray,
    numbers: Iterable[int],
    codes: Iterable[Sequence[IntArray]],
    scopes: Sequence[tuple[str, ...]],
    domain: Domain,
) -> None:
    """Raise BareRowError for the first row that is marked.

    Parameters
    ----------
    bare
        The rows that have a positive target and no profile, one constraint after the other.
    numbers, codes
        Which constraints these are, and the codes of their rows.
    """
    row = int(np.argmax(bare)) if bare.any() else -1
    for k, own in zip(numbers, codes, strict=True):
        if 0 <= row < len(own[0]):
            raise BareRowError(domain, scopes[k], k, [code[row] for code in own])
        row -= len(own[0])


def most_rows(constraint: Constraint, reference: StoredTable) -> int:
    """Return how many rows a constraint has at most, before its target is read."""
    if isinstance(constraint, Marginal):
        return len(constraint.coded.values)
    return min(reference.domain.select(constraint.scope).size, constraint.table.profiles)


def source_of(table: StoredTable) -> Source:
    """Return a stored table, read chunk by chunk."""
    return Source(table.domain, lambda: (read_profiles(table.path, begin, end) for begin, end in table.bounds))


def targets_of(constraint: Constraint) -> Source:
    """Return where a constraint's targets come from."""
    return Source.of(constraint.target) if isinstance(constraint, Marginal) else source_of(constraint.table)


def misses_of(table: StoredTable, constraint: Constraint) -> tuple[float, float]:
    """Return the largest miss of a constraint by a stored table, and the sum of its misses, total mass 1."""
    return misses(source_of(table), targets_of(constraint), constraint.scope)


def outer_rows(
    codes: Sequence[IntArray], targets: FloatArray, sizes: Sequence[int], exponent: int
) -> tuple[tuple[IntArray, ...], FloatArray]:
    """Return the codes and scaled targets of the rows of an outside constraint, in the order of their keys."""
    # keys are int64
    if math.prod(sizes) > 2**62:
        raise NoSlabsError(
            f"a constraint with {math.prod(sizes)} combinations of categories has too many rows to couple slabs"
        )
    # ascending, so that profiles find their row by bisection
    order = np.argsort(profile_keys(codes, sizes)[0])
    return tuple(np.asarray(c)[order] for c in codes), scale_targets(targets[order], exponent)


def scatter_target(
    constraint: Constraint, reference: StoredTable, folder: Path, key: tuple[str, ...], part_of: IntArray
) -> None:
    """Bring an inside target's rows to the parts whose slabs they lie in."""
    within = [constraint.scope.index(name) for name in key]
    sizes = [reference.domain.select([name]).size for name in key]
    if isinstance(constraint, Marginal):
        codes, values = align_target(constraint, reference)
        write_scattered(folder / "given", codes, values, within, sizes, part_of)
        return
    table = constraint.table
    positions = [table.domain.position(name) for name in constraint.scope]
    maps = []
    for name, position in zip(constraint.scope, positions, strict=True):
        known, categories = table.domain.categories[position], reference.domain.select([name]).categories[0]
        mapping = _map_categories(name, known, categories, reference)
        if (mapping < 0).any():
            lost = known[int(np.argmin(mapping))]
            raise UnknownCategoryError.with_mass(lost, name, categories, of="the target", lacks="the reference")
        maps.append(mapping)
    map_each(scatter, table.bounds, table.path, folder, positions, maps, within, sizes, part_of)
