"""Projections of stored tables whose constraints have no slabs: by L-BFGS, the rows held by the driver."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.constraints.marginals import Marginal, StoredMarginal
from purtensor.distributed.ascending import Place, divergence_at, masses_on, place_at, step_from, sums_at
from purtensor.distributed.faces import Piece as Profiles
from purtensor.distributed.faces import written
from purtensor.distributed.rows import RowProblem, refuse_rows_without_profiles, row_problem_of
from purtensor.distributed.running import Stage
from purtensor.distributed.targets import Constraint
from purtensor.errors import InvalidOptionError
from purtensor.projection.labels import looked_up
from purtensor.projection.outcome import Outcome
from purtensor.projection.result import Projection
from purtensor.projection.trace import trace_of
from purtensor.solving.iterate import Record
from purtensor.solving.loop import Stopping, TraceLine
from purtensor.solving.solvers.lbfgs import LBFGS, Pair, learn
from purtensor.solving.termination import Termination
from purtensor.tables.coded import domain_of, sparse_table
from purtensor.tables.stored import StoredTable, open_table, read_profiles
from purtensor.verification.pieces import Piece, Rows

_NOTE = "L-BFGS on the dual, whose rows the driver holds; no bound is proved"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowProjection(Outcome):
    """A projection of a stored table by L-BFGS: the table on disk, the potentials in memory; nothing is proved of it.

    Attributes
    ----------
    potentials
        One table a constraint, natural logarithms: table = reference * exp(C^T potentials). Rows with a target of
        zero are left out, and dependent rows have what the steps gave them.
    trace
        As in `Projection`.
    reference, constraints
        What was projected onto what.
    path
        The folder of the run.

    And those of every outcome, as in `Projection`.

    Examples
    --------
    >>> import tempfile
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, weights=[1, 2, 3, 5])
    >>> stored = pt.store_table(counts, tempfile.mkdtemp() + "/counts.zarr")
    >>> even = pt.marginals_of(pt.tabulate({"a": [0, 1], "b": [0, 1]}), ["a", "b"])
    >>> result = pt.project(stored, even, solver=pt.LBFGS())
    >>> type(result).__name__, result.converged, result.certified
    ('RowProjection', True, False)
    """

    potentials: tuple[Table, ...] = field(repr=False)
    trace: xr.Dataset = field(repr=False)
    reference: StoredTable = field(repr=False)
    constraints: tuple[Marginal | StoredMarginal, ...] = field(repr=False)
    path: Path
    problem: RowProblem = field(repr=False)
    values: FloatArray = field(repr=False)

    @property
    def diagnosis(self) -> None:
        """No verdict on feasibility is computed here."""
        return

    @property
    def scopes(self) -> tuple[tuple[str, ...], ...]:
        """The scopes of the constraints."""
        return self.problem.scopes

    @property
    def table(self) -> StoredTable:
        """The projection as a stored table; written when it is first asked for."""
        place = self.path / f"table-{hashlib.sha256(self.values.tobytes()).hexdigest()[:16]}.zarr"
        return open_table(place) if place.exists() else written(place, self.reference.domain, self._profiles())

    def chunks(self) -> Iterator[Table]:
        """Yield the projection chunk by chunk as sparse tables, without writing it."""
        for codes, values in self._profiles():
            yield sparse_table(self.reference.domain, codes, values, name="projection")

    def _profiles(self) -> Iterator[Profiles]:
        for number, bounds in enumerate(self.reference.bounds):
            codes, values = read_profiles(self.reference.path, *bounds)
            masses = np.zeros(len(values))
            if number in self.problem.chunks:
                chunk, found = masses_on(self.problem.folder / "chunks", number, self.problem.offsets, self.values)
                masses[chunk.alive] = np.ldexp(found, self.problem.target_exponent)
            yield [np.asarray(code, dtype=np.int64) for code in codes], masses

    def pieces(self) -> Iterator[Piece]:
        """Yield what `verify` reads, chunk by chunk; there is no witness of a bound."""
        rows = [
            Rows([np.asarray(c) for c in codes], potentials.values, np.full(len(codes[0]), np.nan))
            for codes, potentials in zip(self.problem.codes, self.potentials, strict=True)
        ]
        table = self.table
        for bounds in self.reference.bounds:
            codes, reference = read_profiles(self.reference.path, *bounds)
            yield Piece(_wide(codes), reference, read_profiles(table.path, *bounds)[1], rows)


def _wide(codes: Sequence[IntArray]) -> list[IntArray]:
    return [np.asarray(code, dtype=np.int64) for code in codes]


def project_by_rows(
    reference: StoredTable, constraints: tuple[Constraint, ...], solver: LBFGS, stopping: Stopping, start: Any,
    told: Callable[[Stage], Any] | None,
) -> RowProjection:  # fmt: skip
    """Return the projection of a stored table by L-BFGS on its dual.

    Any chunks serve, and every value of the dual is one pass over them. There is no checkpoint and no certificate; the
    potentials so far are in what is returned, and `start` goes on from them.

    Raises
    ------
    InvalidOptionError
        `stop_on="tv_bound"`, since nothing is proved on the way.
    TooLargeError
        More rows than a driver holds.
    InfeasibleError
        A positive target without a profile.
    """
    if stopping.stop_on != "residual":
        raise InvalidOptionError("L-BFGS on disk proves no bound: it stops on the residual")
    name = hashlib.sha256(repr([reference.path.resolve(), *(c.scope for c in constraints)]).encode()).hexdigest()[:16]
    problem = row_problem_of(reference, constraints, reference.workspace / f"rows-{name}")
    potentials = np.zeros(int(problem.offsets[-1]))
    told_there = sums_at(problem, potentials)
    refuse_rows_without_profiles(problem, told_there.sums["rows"], reference.domain)
    place = place_at(problem, potentials, told_there) if start is None else place_at(problem, _started(problem, start))
    place, lines, ending = _ascended(problem, place, solver, stopping, told)
    residual, residual_l1 = _residuals(problem, place)
    shift = (problem.target_exponent - problem.reference_exponent) * np.log(2.0)
    tables = []
    for k, (scope, codes) in enumerate(zip(problem.scopes, problem.codes, strict=True)):
        values = place.potentials[problem.block(k)] + (shift if k == 0 else 0.0)
        tables.append(sparse_table(reference.domain.select(scope), codes, values, name="potential"))
    return RowProjection(
        termination=ending, certified=False, residual=residual, residual_l1=residual_l1,
        divergence=divergence_at(problem, place.potentials), bound=float("inf"), tv_bound=1.0,
        iterations=lines[-1].iteration, seconds=lines[-1].seconds, notes=(_NOTE,), potentials=tuple(tables),
        trace=trace_of(lines, float("inf"), problem.nats_left_out), reference=reference,
        constraints=constraints, path=problem.folder, problem=problem, values=place.potentials,
    )  # fmt: skip


def _started(problem: RowProblem, start: Any) -> FloatArray:
    given = start.potentials if isinstance(start, Projection | RowProjection) else start
    if not (isinstance(given, Sequence) and all(isinstance(table, Table) for table in given)):
        raise InvalidOptionError(
            "start is a Projection, a RowProjection or a sequence of tables of potentials, one a constraint; those of "
            "a StoredProjection are on disk"
        )
    tables = list(given)
    found = np.zeros(int(problem.offsets[-1]))
    for k, (scope, codes) in enumerate(zip(problem.scopes, problem.codes, strict=True)):
        table = next((one for one in tables if set(domain_of(one).attributes) == set(scope)), None)
        if table is not None:
            tables = [one for one in tables if one is not table]
            found[problem.block(k)] = looked_up(table, problem.reference.domain.select(scope), codes)
    found[~np.isfinite(found)] = 0.0
    return found


def _ascended(
    problem: RowProblem, place: Place, solver: LBFGS, stopping: Stopping, told: Callable[[Stage], Any] | None
) -> tuple[Place, list[TraceLine], Termination]:
    """Return where the steps lead, their trace, and how they end."""
    started = time.perf_counter()
    pairs: deque[Pair] = deque(maxlen=solver.memory)
    lines = [_line(problem, place, 0, 0.0, 0.0)]
    while True:
        last = lines[-1]
        ending = _ending(last, stopping)
        if ending is not None:
            return place, lines, ending
        try:
            went = step_from(problem, place, pairs)
            if pairs and (went is None or _is_rounding(problem, went.gain)):
                pairs.clear()  # what was learnt may be rounding
                went = step_from(problem, place, pairs)
            if went is None:
                return place, lines, Termination.STALLED
            reached = place_at(problem, place.potentials + went.step)
        except KeyboardInterrupt:
            return place, lines, Termination.INTERRUPTED
        learn(pairs, went.step, went.bend, place.miss - reached.miss)
        place = reached
        line = _line(problem, place, last.iteration + 1, time.perf_counter() - started, went.gain / problem.total)
        lines.append(line)
        if _is_rounding(problem, went.gain):
            return place, lines, _ending(line, stopping, judged=True) or Termination.STALLED
        stage = Stage(line.iteration, line.seconds, line.record.residual, line.record.residual_l1)
        if told is not None and told(stage):
            return place, lines, Termination.INTERRUPTED


def _is_rounding(problem: RowProblem, gain: float) -> bool:
    return gain / problem.total <= len(problem.scopes) * 2.0**-100


def _line(problem: RowProblem, place: Place, iteration: int, seconds: float, gain: float) -> TraceLine:
    residual, residual_l1 = _residuals(problem, place)
    linear = float(problem.targets @ place.potentials) / problem.total
    dual = linear - float(np.log(problem.total / problem.mass))
    return TraceLine(Record(1, residual, residual_l1, gain, dual), iteration, seconds)


def _residuals(problem: RowProblem, place: Place) -> tuple[float, float]:
    misses = np.abs(place.miss)
    l1 = [float(misses[problem.block(k)].sum()) for k in range(len(problem.scopes))]
    return float(misses.max()) / problem.total, max(l1) / problem.total


def _ending(line: TraceLine, stopping: Stopping, *, judged: bool = False) -> Termination | None:
    record = line.record
    if not np.isfinite(record.residual_l1):
        return Termination.NOT_FINITE
    if record.residual <= stopping.residual and record.residual_l1 <= stopping.residual_l1:
        return Termination.CONVERGED
    if judged:
        return None
    if line.iteration >= stopping.max_iterations:
        return Termination.ITERATION_LIMIT
    return Termination.TIME_LIMIT if line.seconds > stopping.max_seconds else None
