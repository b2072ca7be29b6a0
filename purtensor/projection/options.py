"""The options of a projection, checked: in memory, on disk, and of many at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from purtensor._options import check_choice, check_flag, is_count, is_number
from purtensor._typing import Table
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.projection.result import Projection
from purtensor.solving.iterate import Solver
from purtensor.solving.solvers.automatic import Automatic
from purtensor.solving.solvers.by_name import solver_named
from purtensor.solving.stopping import Stopping
from purtensor.tables.coded import domain_of

_MOST_ITERATIONS = 1_000_000


def solver_of(solver: Solver | str | None) -> Solver:
    """Return the solver that is requested, by itself or by name, checked."""
    if isinstance(solver, str):
        return solver_named(solver)
    chosen = Automatic() if solver is None else solver
    if not callable(getattr(chosen, "step", None)) or isinstance(chosen, type):
        raise InvalidOptionError(f"solver must be an object with a step, such as IPF(), got {chosen!r}")
    return chosen


def stopping_of(tolerance: float, stop_on: str, max_iterations: int | None, max_seconds: float | None) -> Stopping:
    """Return the stopping rule, its options checked."""
    check_choice("stop_on", stop_on, ("residual", "tv_bound", "log_ratio"))
    if not (is_number(tolerance) and 0 <= tolerance < 1):
        raise InvalidOptionError(f"tolerance must be a share of the total mass in [0, 1), got {tolerance!r}")
    iterations = _MOST_ITERATIONS if max_iterations is None else iterations_of(max_iterations)
    if max_seconds is not None and not (is_number(max_seconds) and max_seconds > 0):
        raise InvalidOptionError(f"max_seconds must be a positive time, got {max_seconds!r}")
    return Stopping(float(tolerance), stop_on, iterations, float("inf") if max_seconds is None else float(max_seconds))


def refuse_log_ratio(stop_on: str, what: str) -> None:
    """Refuse to stop on a bound of log ratios where none is proved."""
    if stop_on == "log_ratio":
        raise InvalidOptionError(f"{what} have no bound of log ratios: stop_on must be 'residual' or 'tv_bound'")


def read_start(start: Any, scopes: Sequence[tuple[str, ...]]) -> list[Table]:
    """Return the tables of potentials of a warm start: those of a projection of any constraints, or those given.

    Raises
    ------
    InvalidOptionError
        Something else, tables over other attributes than those of the constraints, or values that are no potentials.
    """
    tables = start.potentials if isinstance(start, Projection) else start
    if not (isinstance(tables, Sequence) and all(isinstance(table, Table) for table in tables)):
        raise InvalidOptionError(
            f"start must be a Projection or a sequence of tables of potentials, one per constraint, got {start!r}"
        )
    if not isinstance(start, Projection):
        _check_scopes(tables, scopes)
        _check_potentials(tables)
    return list(tables)


def _check_scopes(tables: Sequence[Table], scopes: Sequence[tuple[str, ...]]) -> None:
    """Refuse potentials of other constraints than those at hand."""
    given = [domain_of(table).attributes for table in tables]
    if sorted(map(sorted, given)) != sorted(map(sorted, scopes)):
        came, wanted = (" | ".join(", ".join(scope) for scope in some) or "none" for some in (given, scopes))
        raise InvalidOptionError(
            f"start must have one table of potentials per constraint, over {wanted}, got tables over {came}"
        )


def _check_potentials(tables: Sequence[Table]) -> None:
    """Refuse potentials that are not numbers; -inf says that a target is zero."""
    for table in tables:
        values = np.asarray(table.values)
        if values.dtype.kind not in "buif":
            raise InvalidOptionError(f"the potentials in start must be integers or floats, got {values.dtype}")
        if np.isnan(values).any() or np.isposinf(values).any():
            raise InvalidOptionError(
                f"start has a potential over {', '.join(map(str, domain_of(table).attributes))} that is NaN or infinite"
            )


def iterations_of(limit: object) -> int:
    """Return a limit on iterations, checked."""
    if not is_count(limit):
        raise InvalidOptionError(f"max_iterations must be a count, got {limit!r}")
    return int(limit)


def check_telling(progress: object, callback: object) -> None:
    """Refuse a `progress` that is neither True nor False, and a callback that cannot be called."""
    check_flag("progress", progress)
    if callback is not None and not callable(callback):
        raise InvalidOptionError(f"callback must be a function of a Progress, got {callback!r}")


_SUMS = 512


@contextmanager
def refuse_changes(reference: Table, constraints: Sequence[Any]) -> Iterator[None]:
    """Let a call run on these tables, and raise an error where they are not what they were when it began.

    A solver works on arrays of its own, but they are read one after another: what is changed meanwhile may be read in
    part as it was and in part as it is. And a result holds the tables themselves, which must be what was projected.

    Raises
    ------
    InvalidTableError
        The reference or a target has changed.
    """
    targets = [getattr(constraint, "target", None) for constraint in constraints]
    # what is no table of numbers is refused by what reads it
    tables = [table for table in (reference, *targets) if isinstance(table, Table) and _has_numbers(table)]
    before = [_fingerprint(table.values) for table in tables]
    yield
    for table, seen in zip(tables, before, strict=True):
        if _fingerprint(table.values) != seen:
            what = "the reference" if table is reference else f"the target of ({', '.join(map(str, table.dims))})"
            raise InvalidTableError(
                f"{what} must stay as it is during the call, but its values were changed; give a copy of a table that "
                "another thread or a callback writes into"
            )


def _has_numbers(table: Table) -> bool:
    return isinstance(table.data, np.ndarray) and not table.dtype.hasobject


def _fingerprint(values: Any) -> bytes:
    """Return sums of the bits of the values: every 512th is in one sum, so that an exchange shows too."""
    # sums run at the speed of memory: a hash of the bytes takes as long as a sweep
    bits = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    words = bits[: len(bits) // 8 * 8].view(np.uint64)
    whole = len(words) // _SUMS * _SUMS
    sums = words[:whole].reshape(-1, _SUMS).sum(axis=0, dtype=np.uint64)
    return bytes(sums) + bytes(bits[8 * whole :])
