"""Many projections in one call, with any executor: the results do not depend on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from purtensor._options import check_flag, is_count, items_of
from purtensor._printing import Shown
from purtensor._typing import Table
from purtensor.constraints.marginals import Constraints, Marginal, as_constraints
from purtensor.errors import InvalidOptionError
from purtensor.projection.executing import Failure, gather
from purtensor.projection.options import solver_of, stopping_of
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.solving.iterate import Solver

_MOST_FAILURES = 5
"""Up to this many failures are listed completely."""

Reference: TypeAlias = "Table | Callable[[np.random.Generator], Table]"
"""A table, or a function that draws one."""

ConstraintSet: TypeAlias = "Constraints | Callable[[Table], Constraints]"
"""A constraint set, or a function that makes it from the member's reference."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ensemble(Shown):
    """The projections of many members, in their order.

    Attributes
    ----------
    results
        One Projection per member; None if it failed.
    failures
        Those that failed, in order.
    interrupted
        Whether Ctrl-C came before all had ended: those that had not are None, and only the one that was at work, if
        any, is among the failures, with its state so far.
    """

    results: tuple[Projection | None, ...] = field(repr=False)
    failures: tuple[Failure, ...]
    interrupted: bool = False

    def __len__(self) -> int:
        return len(self.results)

    def summary(self) -> dict[str, str]:
        """Return a summary of the endings as named texts."""
        made = [result for result in self.results if result is not None]
        endings = Counter(result.termination.value for result in made)
        return {
            "projections": f"{len(made):,} of {len(self.results):,}",
            "endings": "; ".join(f"{count:,}: {ending}" for ending, count in endings.most_common()),
            "largest residual": f"{max(result.residual for result in made):.2e}" if made else "",
            "failures": "; ".join(str(failure) for failure in self.failures[:_MOST_FAILURES]),
            "interrupted": "yes" if self.interrupted else "",
        }


@dataclass(frozen=True, slots=True)
class _Member:
    """One projection to make: all that a worker needs."""

    reference: Reference
    constraints: ConstraintSet
    seed: np.random.SeedSequence | None
    options: dict[str, Any]


def project_many(
    references: Reference | Iterable[Reference],
    constraints: ConstraintSet | Iterable[ConstraintSet],
    *,
    executor: Any = None,
    seed: int | None = None,
    solver: Solver | str | None = None,
    tolerance: float = 1e-10,
    stop_on: str = "residual",
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    certificate: bool = True,
    progress: bool = False,
) -> Ensemble:
    """Return the projections of many references, onto one common or separate constraint sets, in their order.

    A member that fails is reported, and the others continue. The results are those of separate calls of `project`, for
    every executor and number of workers. After Ctrl-C the completed members are returned.

    Parameters
    ----------
    references
        Tables; or one table, for many constraint sets. A table may be replaced by a function that draws one, which is
        called with the random generator of the member.
    constraints
        One constraint set for all members; or a list with one set a member, each a tuple or list of Marginals (or a
        single Marginal where there is one reference only). A set may be replaced by a function of the reference of the
        member.
    executor
        Runs the members: None (sequentially in this process); a number of joblib workers, or a `joblib.Parallel`; any
        object with a method `submit`, such as the executors of concurrent.futures and a Client of dask.distributed.
        Other processes must be able to unpickle the members.
    seed
        For references that are drawn by functions: member n gets the n-th child of this seed, in any process.
    solver, tolerance, stop_on, max_iterations, max_seconds, certificate
        As in `project`.
    progress
        Whether to show the number of completed members and the estimated remaining time on a terminal.

    Raises
    ------
    InvalidOptionError
        Numbers of references and constraint sets that do not fit, functions without a seed, another executor, or an
        option that `project` refuses.
    KeyboardInterrupt
        After Ctrl-C, if no member was completed.

    Examples
    --------
    >>> import purtensor as pt
    >>> tables = [pt.tabulate({"a": [0, 1, 1], "b": [0, 0, 1]}, weights=[n, 1, 1]) for n in (1, 2)]
    >>> target = pt.marginals_of(tables[0], ["a", "b"])
    >>> done = pt.project_many(tables, target)
    >>> [result.converged for result in done.results], done.failures
    ([True, True], ())
    """
    options = {
        "solver": solver,
        "tolerance": tolerance,
        "stop_on": stop_on,
        "max_iterations": max_iterations,
        "max_seconds": max_seconds,
        "certificate": certificate,
    }
    # checked here once, or every member would fail with the same error
    stopping_of(tolerance, stop_on, max_iterations, max_seconds)
    solver_of(solver)
    check_flag("certificate", certificate)
    check_flag("progress", progress)
    if seed is not None and not is_count(seed):
        raise InvalidOptionError(f"seed must be a non-negative integer, got {seed!r}")
    # everything a worker needs, so that members do not depend on who runs them
    members = _members(references, constraints, seed, options)
    found = gather(_project, members, executor, progress=progress)
    # nothing was completed: an empty ensemble would hide the interruption
    if found.interrupted and not found.failures and not found.results:
        raise KeyboardInterrupt
    results = tuple(found.results.get(number) for number in range(len(members)))
    return Ensemble(results, tuple(found.failures), found.interrupted)


def _members(references: Any, constraints: Any, seed: int | None, options: dict[str, Any]) -> list[_Member]:
    many = None if isinstance(references, Table) or callable(references) else items_of(references)
    if isinstance(references, str) or (many is None and not isinstance(references, Table) and not callable(references)):
        raise InvalidOptionError(
            f"references must be tables, or functions that draw them, got {type(references).__qualname__}"
        )
    sets = _constraint_sets(constraints, one_reference=many is None)
    if many is None:
        many = [references] * len(sets)
    elif len(sets) == 1:
        sets = sets * len(many)
    if len(many) != len(sets):
        raise InvalidOptionError(
            f"there are {len(many)} references and {len(sets)} constraint sets: give one set per reference"
        )
    wrong = [one for one in many if not (isinstance(one, Table) or callable(one))]
    if wrong:
        raise InvalidOptionError(
            f"a reference must be a table or a function that draws one, got {type(wrong[0]).__qualname__}"
        )
    draws = any(not isinstance(one, Table) for one in many)
    if draws and seed is None:
        raise InvalidOptionError("some references are drawn by functions: give a seed")
    seeds: Sequence[np.random.SeedSequence | None] = (
        # children by number, so that a member draws the same whoever runs it, in whatever order
        np.random.SeedSequence(seed).spawn(len(many)) if draws else [None] * len(many)
    )
    return [_Member(*given, options) for given in zip(many, sets, seeds, strict=True)]


def _constraint_sets(constraints: Any, *, one_reference: bool) -> list[ConstraintSet]:
    """Return the sets: a flat list of Marginals is one set, unless there is one reference for many of them."""
    if isinstance(constraints, Marginal) or callable(constraints):
        return [constraints]
    found = items_of(constraints)
    given = [constraints] if found is None else found
    # with one reference a flat list could mean many sets of one Marginal each
    if not one_reference and all(isinstance(item, Marginal) for item in given):
        return [as_constraints(given)]
    return [item if callable(item) else as_constraints(item) for item in given]


def _project(member: _Member) -> Projection:
    reference = member.reference
    if not isinstance(reference, Table):
        reference = reference(np.random.default_rng(member.seed))
    wanted = member.constraints
    constraints = wanted(reference) if callable(wanted) else wanted
    return project(reference, constraints, **member.options)
