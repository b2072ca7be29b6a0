"""Projections of stored tables whose constraints have no slabs: by L-BFGS, the rows held by the driver."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.constraints.marginals import Marginal, StoredMarginal
from purtensor.errors import InvalidOptionError, StoreError
from purtensor.feasibility.verdict import Verdict
from purtensor.outofcore.ascent import Place, divergence_at, has_emptied_at, masses_on, place_at, sums_at
from purtensor.outofcore.diagnosis import StoredDiagnosis
from purtensor.outofcore.face import ending_on_face
from purtensor.outofcore.face_parts import Piece as Profiles
from purtensor.outofcore.face_parts import written
from purtensor.outofcore.feasibility_check import Doubts, Stage, doubts_of_rows
from purtensor.outofcore.names import identity_of, problem_name
from purtensor.outofcore.result import ProvenRows
from purtensor.outofcore.rows_face import face_of_rows, proofs_of
from purtensor.outofcore.rows_problem import RowProblem, refuse_rows_without_profiles, row_problem_of
from purtensor.outofcore.rows_run import ascended, row_residuals
from purtensor.outofcore.targets import Constraint
from purtensor.projection.outcome import Outcome
from purtensor.projection.result import Projection
from purtensor.projection.trace import trace_of
from purtensor.solving.solvers.lbfgs import LBFGS
from purtensor.solving.stopping import Stopping
from purtensor.solving.termination import Termination
from purtensor.solving.trace_lines import TraceLine
from purtensor.tables.coded import domain_of, sparse_table
from purtensor.tables.store.open_store import StoredTable, open_table, read_profiles
from purtensor.tables.values_at import looked_up
from purtensor.verification.stored_sums import Piece

_NOTE = "L-BFGS on the dual, whose rows the driver holds; no bound is proved"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowProjection(Outcome):
    """A projection of a stored table by L-BFGS: the table on disk, the potentials in memory; no bound is proved of it.

    As every outcome it has what `Projection` says, too.

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
    diagnosis
        The verdict on feasibility where one was needed.
    proofs
        Whole numbers on the rows that empty the zeros which the constraints force, one array a proof.

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
    diagnosis: StoredDiagnosis | None = field(default=None, repr=False)
    proofs: tuple[IntArray, ...] = field(default=(), repr=False)

    @property
    def scopes(self) -> tuple[tuple[str, ...], ...]:
        """The scopes of the constraints."""
        return self.problem.scopes

    @property
    def table(self) -> StoredTable:
        """The projection as a stored table; written when it is first asked for."""
        digest = hashlib.sha256(f"{self.problem.folder.name} {self.problem.identity}".encode())
        digest.update(self.values.tobytes())
        place = self.path / f"table-{digest.hexdigest()[:16]}.zarr"
        return open_table(place) if place.exists() else written(place, self.reference.domain, self._profiles())

    def chunks(self) -> Iterator[Table]:
        """Yield the projection chunk by chunk as sparse tables, without writing it."""
        for codes, values in self._profiles():
            yield sparse_table(self.reference.domain, codes, values, name="projection")

    def _profiles(self) -> Iterator[Profiles]:
        if identity_of(self.reference) != self.problem.identity:
            raise StoreError(f"{self.reference.path} is another table than was projected: it was written anew")
        for number, bounds in enumerate(self.reference.bounds):
            codes, values = read_profiles(self.reference.path, *bounds)
            masses = np.zeros(len(values))
            if number in self.problem.chunks:
                chunk, found = masses_on(self.problem.folder / "chunks", number, self.problem.offsets, self.values)
                masses[chunk.alive] = np.ldexp(found, self.problem.target_exponent)
            yield [np.asarray(code, dtype=np.int64) for code in codes], masses

    def pieces(self) -> Iterator[Piece]:
        """Yield what `verify` reads, chunk by chunk, with all rows each time; there is no witness of a bound."""
        rows = [self._rows(k, potentials.values) for k, potentials in enumerate(self.potentials)]
        table = self.table
        for bounds in self.reference.bounds:
            codes, reference = read_profiles(self.reference.path, *bounds)
            yield Piece(_wide(codes), reference, read_profiles(table.path, *bounds)[1], rows)

    def _rows(self, k: int, potentials: FloatArray) -> ProvenRows:
        problem, codes = self.problem, [np.asarray(code) for code in self.problem.codes[k]]
        given = np.ldexp(problem.targets[problem.block(k)], problem.target_exponent)
        weights = [proof[problem.block(k)] for proof in self.proofs]
        made = np.full(len(given), np.nan)
        return ProvenRows(codes, potentials, made, given, np.reshape(weights, (-1, len(given))).astype(np.int64))


def _wide(codes: Sequence[IntArray]) -> list[IntArray]:
    return [np.asarray(code, dtype=np.int64) for code in codes]


def project_by_rows(
    reference: StoredTable,
    constraints: tuple[Constraint, ...],
    solver: LBFGS,
    stopping: Stopping,
    start: Any,
    told: Callable[[Stage], Any] | None,
) -> RowProjection:
    """Return the projection of a stored table by L-BFGS on its dual.

    Any chunks serve, and every value of the dual is one pass over them. There is no checkpoint and no certificate; the
    potentials so far are in what is returned, and `start` goes on from them. Where a run gains little, or stands still,
    the verdict on feasibility is asked for, as in memory: zeros that the constraints force are left out.

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
    folder = reference.workspace / f"rows-{problem_name(reference, constraints, 'rows')}"
    problem = row_problem_of(reference, constraints, folder)
    potentials = np.zeros(int(problem.offsets[-1]))
    told_there = sums_at(problem, potentials)
    refuse_rows_without_profiles(problem, told_there.sums["rows"], reference.domain)
    place = place_at(problem, potentials, told_there) if start is None else place_at(problem, _started(problem, start))
    solved = _solved(problem, place, solver, stopping, told, doubts_of_rows(reference, constraints))
    problem, place, last = solved.problem, solved.place, solved.lines[-1]
    residual, residual_l1 = row_residuals(problem, place)
    return RowProjection(
        termination=solved.ending,
        certified=False,
        residual=residual,
        residual_l1=residual_l1,
        divergence=divergence_at(problem, place.potentials),
        bound=float("inf"),
        tv_bound=1.0,
        iterations=solved.iterations + last.iteration,
        seconds=solved.seconds + last.seconds,
        notes=solved.notes,
        potentials=_as_tables(problem, place.potentials),
        trace=trace_of(solved.lines, float("inf"), problem.nats_left_out),
        reference=reference,
        constraints=constraints,
        path=folder,
        problem=problem,
        values=place.potentials,
        diagnosis=solved.diagnosis,
        proofs=solved.proofs,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    """Where a run ended, on which problem, and what went before on the whole one where that is a face."""

    problem: RowProblem
    place: Place
    lines: list[TraceLine]
    ending: Termination
    diagnosis: StoredDiagnosis | None
    notes: tuple[str, ...]
    proofs: tuple[IntArray, ...] = ()
    iterations: int = 0
    seconds: float = 0.0


def _solved(
    problem: RowProblem,
    place: Place,
    solver: LBFGS,
    stopping: Stopping,
    told: Callable[[Stage], Any] | None,
    doubts: Doubts,
) -> _Solved:
    """Return how a run ended: where the constraints force zeros, on the face that they leave."""
    place, lines, ending = ascended(problem, place, solver, stopping, told, doubts.is_hopeless)
    before = lines[-1]
    may_be_on_face = ending is Termination.CONVERGED and has_emptied_at(problem, place, before.record.residual_l1)
    ending = Termination.HOPELESS if may_be_on_face and doubts.is_hopeless() else doubts.ending(ending)
    found = doubts.diagnosis
    if ending is not Termination.HOPELESS:
        is_open = found is not None and found.verdict is Verdict.OPEN
        notes = (_NOTE, *((" ".join(doubts.diagnosed().explanation.sentences),) if is_open else ()))
        return _Solved(problem, place, lines, ending, found, notes)
    proofs = proofs_of(problem, doubts.diagnosed())
    problem = face_of_rows(problem, proofs)
    place = place_at(problem, np.zeros(int(problem.offsets[-1])))
    left = replace(
        stopping,
        max_iterations=max(0, stopping.max_iterations - before.iteration),
        max_seconds=max(0.0, stopping.max_seconds - before.seconds),
    )
    place, lines, ending = ascended(problem, place, solver, left, told)
    note = f"the constraints force zeros, found after {before.iteration} iterations; solved again without them"
    return _Solved(
        problem, place, lines, ending_on_face(ending), found, (_NOTE, note), proofs, before.iteration, before.seconds
    )


def _as_tables(problem: RowProblem, potentials: FloatArray) -> tuple[Table, ...]:
    """Return potentials as tables, one a constraint, in the units of the reference and the targets as they came."""
    shift = (problem.target_exponent - problem.reference_exponent) * np.log(2.0)
    tables = []
    for k, (scope, codes) in enumerate(zip(problem.scopes, problem.codes, strict=True)):
        domain = problem.reference.domain.select(scope)
        values = potentials[problem.block(k)] + (shift if k == 0 else 0.0)
        tables.append(sparse_table(domain, codes, values, name="potential"))
    return tuple(tables)


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
