"""Many small tables at once, projected onto P, PU or PUR, on arrays: simulated data sets, supports within a union."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.errors import InvalidOptionError
from purtensor.kernels.newton.bipartite import workspace_size
from purtensor.kernels.newton.pur_direction import Profiles, Room
from purtensor.kernels.newton.pur_solve import FACTS, NOT_FULL, Rule, solve_pur_table
from purtensor.solving.termination import Termination
from purtensor.solving.threads import chunks_of, for_each_chunk

_TABLES_PER_CHUNK = 8
"""Some 10 ms of work: Ctrl-C is heard between chunks."""

_WARM_UP = 3

CONDITIONS = ("P", "PU", "PUR")
"""What tables are projected onto."""

_ENDINGS = (
    Termination.CONVERGED,
    Termination.ITERATION_LIMIT,
    Termination.STALLED,
    Termination.NOT_FINITE,
)


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """The predictor profiles that tables share.

    Attributes
    ----------
    protected, unprotected
        Shape (profiles,): the numbers of s and of x; the profiles lie by x, within an x no s occurs twice.
    groups, slabs, responses
        How many s, x and y there are.
    """

    protected: IntArray
    unprotected: IntArray
    groups: int
    slabs: int
    responses: int

    @classmethod
    def of(cls, protected: IntArray, unprotected: IntArray, responses: int) -> Union:
        """Return the union of these profiles.

        Raises
        ------
        InvalidOptionError
            The profiles do not lie by x, or one occurs twice.
        """
        s, x = np.asarray(protected, dtype=np.int64), np.asarray(unprotected, dtype=np.int64)
        groups, slabs = int(s.max()) + 1, int(x.max()) + 1
        if s.shape != x.shape or np.any(np.diff(x) < 0) or len(np.unique(x * groups + s)) < len(s):
            raise InvalidOptionError("predictor profiles come by their unprotected number, each pair (s, x) once")
        return cls(s, x, groups, slabs, responses)

    @property
    def rows(self) -> int:
        """How many rows the three constraints have over the union."""
        return len(self.protected) + (self.slabs + self.groups) * self.responses


@dataclass(frozen=True, slots=True, eq=False)
class SolvedTables:
    """Projections of T tables, with their evidence.

    Attributes
    ----------
    masses
        Shape (T, profiles, responses): the projections, of the totals of their data; NaN where there is none.
    potentials
        Shape (T, rows): of (s, x), then (y, x) as x * responses + y, then (y, s) as s * responses + y; with
        masses = reference * exp of their sums; 0 for what is not stated.
    steps
        Shape (T,): Newton steps.
    residual, residual_l1, bound, tv_bound
        Shape (T,): as in `purtensor.Projection`.
    endings
        One a table; None where a profile of its support lacks a response that another has, which is not for here.
    """

    masses: FloatArray
    potentials: FloatArray
    steps: IntArray
    residual: FloatArray
    residual_l1: FloatArray
    bound: FloatArray
    tv_bound: FloatArray
    endings: tuple[Termination | None, ...]

    @property
    def converged(self) -> BoolArray:
        """Shape (T,): whether the distance to the exact projection is proved to be within the tolerance."""
        return np.array([ending is Termination.CONVERGED for ending in self.endings], dtype=bool)


def solve_tables(
    union: Union,
    references: FloatArray,
    data: FloatArray | None = None,
    *,
    conditions: str = "PUR",
    tolerance: float = 1e-10,
    most: int = 100,
) -> SolvedTables:
    """Return the projections of many tables onto parity, utility and realism, each to a proved distance.

    The whole solve of a table is compiled, and tables are shared out to threads; the bits are the same whatever
    their number. Supports may differ, but each is full in the responses, as regularized tables are.

    Parameters
    ----------
    union
        The predictor profiles, shared by all tables.
    references
        Shape (T, profiles, responses): not negative; zero where a table has no profile.
    data
        What the targets are marginals of, same shape; the references when None.
    conditions
        "P", "PU" or "PUR". Parity alone needs no Newton step.
    tolerance
        Of the proved distance in total variation.
    most
        Newton steps at most.

    Raises
    ------
    InvalidOptionError
        Arrays of another shape, or other conditions.

    Examples
    --------
    >>> import numpy as np
    >>> union = Union.of(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), responses=2)
    >>> tables = np.random.default_rng(1).uniform(0.1, 1.0, (3, 4, 2))
    >>> solved = solve_tables(union, tables)
    >>> solved.converged.tolist(), bool(solved.tv_bound.max() <= 1e-10)
    ([True, True, True], True)
    """
    given = np.ascontiguousarray(references, dtype=np.float64)
    of = given if data is None else np.ascontiguousarray(data, dtype=np.float64)
    expected = (len(union.protected), union.responses)
    if given.ndim != 3 or given.shape[1:] != expected or of.shape != given.shape:
        raise InvalidOptionError(
            f"tables have the shape (tables, {expected[0]}, {expected[1]}), these are {given.shape}, {of.shape}"
        )
    if conditions not in CONDITIONS:
        raise InvalidOptionError(f"conditions are one of {', '.join(CONDITIONS)}, these are {conditions!r}")
    tables = len(given)
    masses = np.empty_like(given)
    potentials = np.empty((tables, union.rows))
    facts = np.empty((tables, FACTS))
    profiles, rule = _layout(union), Rule(_WARM_UP, most, tolerance, "U" in conditions, "R" in conditions)

    def work(number: int, begin: int, end: int) -> None:
        room = _room(union)
        for n in range(begin, end):
            facts[n, 0] = solve_pur_table(given[n], of[n], profiles, rule, room, masses[n], potentials[n], facts[n])

    for_each_chunk(work, chunks_of(tables, _TABLES_PER_CHUNK))
    endings = tuple(None if ending == NOT_FULL else _ENDINGS[int(ending)] for ending in facts[:, 0])
    return SolvedTables(
        masses, potentials, facts[:, 1].astype(np.int64), facts[:, 2], facts[:, 3], facts[:, 4], facts[:, 5], endings
    )


def _layout(union: Union) -> Profiles:
    """Return the cell of every profile and response within its slab, the slabs, and the rows of each slab."""
    profiles, responses = len(union.protected), union.responses
    y = np.arange(responses)
    code = (union.protected[:, None] * responses + y).reshape(-1)
    slab_ptr = np.searchsorted(union.unprotected, np.arange(union.slabs + 1)) * responses
    primary = np.full((union.slabs, union.groups), -1, dtype=np.int32)
    primary[union.unprotected, union.protected] = np.arange(profiles)
    other = (profiles + np.arange(union.slabs)[:, None] * responses + y).astype(np.int32)
    return Profiles(union.protected, union.unprotected, code, slab_ptr, primary, other)


def _room(union: Union) -> Room:
    """Return memory for one thread."""
    cells, masses = (union.groups, union.responses), (len(union.protected), union.responses)
    coupled = union.groups * union.responses
    sums, targets, direction, correction = np.empty((4, union.rows))
    return Room(
        sums,
        targets,
        direction,
        correction,
        np.empty(coupled**2),
        np.empty(coupled),
        np.empty(coupled),
        np.empty(cells),
        np.empty(masses),
        np.empty(masses),
        np.empty((union.slabs, union.responses), dtype=np.int32),
        np.empty(union.responses - 1, dtype=np.int64),
        np.empty(coupled, dtype=np.int64),
        np.empty(workspace_size(cells, union.responses, coupled)),
    )
