"""Projections of stored tables whose constraints have no slabs: by L-BFGS, the rows held by the driver."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, NoSlabsError, StoreError, TooLargeError
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.verdict import Verdict
from purtensor.outofcore.diagnose import IN_MEMORY, diagnose_stored
from purtensor.outofcore.diagnosis import leave_open, witness_of
from purtensor.outofcore.result import ProvenRows
from purtensor.outofcore.rows_problem import RowProblem, face_of_rows, proofs_of, row_problem_of
from purtensor.outofcore.rows_space import RowsPoint, RowsSpace, masses_on
from purtensor.outofcore.targets import Constraint, refuse_bare_rows
from purtensor.outofcore.warm_start import take_table
from purtensor.outofcore.workspace import identity_of, problem_name
from purtensor.projection.labels import trace_of
from purtensor.projection.lazy_verdict import FaceVerdict, LazyVerdict
from purtensor.projection.options import read_start
from purtensor.projection.result import Projection
from purtensor.solving.loop import Callback, Stage, begin
from purtensor.solving.run_state import State
from purtensor.solving.solve import solve
from purtensor.solving.solvers.lbfgs import LBFGS, lbfgs_step
from purtensor.solving.stopping import Stopping
from purtensor.tables.coded import sparse_table
from purtensor.tables.store.format import read_profiles
from purtensor.tables.store.table import StoredTable, open_table
from purtensor.tables.store.write import Piece as Profiles
from purtensor.tables.store.write import write_pieces
from purtensor.tables.translate import values_at
from purtensor.verification.stored_sums import Piece

_NOTE = "L-BFGS on the dual, with all rows in memory; no bound is proved"


@dataclass(frozen=True, slots=True, eq=False)
class RowEvidence:
    """The numbers of a projection by L-BFGS, the table on disk, the potentials in memory: see `Projection` for each.

    Attributes
    ----------
    problem, values
        The rows of the problem, and the potentials on all of them. Rows with a target of zero are left out, and
        dependent rows have what the steps gave them.
    proofs
        Whole numbers on the rows that empty the zeros which the constraints force, one array a proof.
    """

    reference: StoredTable
    path: Path
    problem: RowProblem
    values: FloatArray
    trace: xr.Dataset
    proofs: tuple[IntArray, ...] = ()

    @property
    def potentials(self) -> tuple[Table, ...]:
        """One table per constraint, natural logarithms."""
        return _as_tables(self.problem, self.values)

    def potential_chunks(self) -> Iterator[tuple[Table, ...]]:
        """Yield all potentials at once."""
        yield self.potentials

    @property
    def scopes(self) -> tuple[tuple[str, ...], ...]:
        """The scopes of the constraints."""
        return self.problem.scopes

    @property
    def everywhere(self) -> tuple[int, ...]:
        """The constraints of which every piece has all rows."""
        return tuple(range(len(self.scopes)))

    @property
    def table(self) -> StoredTable:
        """The projection as a stored table; written at the first access."""
        # a name by content: another result over the same folder has another table
        digest = hashlib.sha256(f"{self.problem.folder.name} {self.problem.identity}".encode())
        digest.update(self.values.tobytes())
        place = self.path / f"table-{digest.hexdigest()[:16]}.zarr"
        return open_table(place) if place.exists() else write_pieces(place, self.reference.domain, self._profiles())

    def chunks(self) -> Iterator[Table]:
        """Yield the projection chunk by chunk as sparse tables, without writing it."""
        for codes, values in self._profiles():
            yield sparse_table(self.reference.domain, codes, values, name="projection")

    def _profiles(self) -> Iterator[Profiles]:
        # chunks on disk were made of the table as it was: written again, its profiles may stand elsewhere
        if identity_of(self.reference) != self.problem.identity:
            raise StoreError(f"{self.reference.path} is not the table that was projected: it has been written again")
        for number, bounds in enumerate(self.reference.bounds):
            codes, values = read_profiles(self.reference.path, *bounds)
            masses = np.zeros(len(values))
            if number in self.problem.chunks:
                chunk, found = masses_on(self.problem.folder / "chunks", number, self.problem.offsets, self.values)
                masses[chunk.alive] = np.ldexp(found, self.problem.target_exponent)
            yield _wide(codes), masses

    @property
    def independent_rows(self) -> None:
        """None: no bound is proved of these, whose equations are not solved."""
        return None

    def pieces(self, table: StoredTable) -> Iterator[Piece]:
        """Yield what `verify` reads, chunk by chunk, with all rows each time; there is no witness of a bound."""
        rows = [self._rows(k, potentials.values) for k, potentials in enumerate(self.potentials)]
        for bounds in self.reference.bounds:
            codes, reference = read_profiles(self.reference.path, *bounds)
            yield Piece(_wide(codes), reference, read_profiles(table.path, *bounds)[1], rows)

    def _rows(self, k: int, potentials: FloatArray) -> ProvenRows:
        problem, codes = self.problem, [np.asarray(code) for code in self.problem.codes[k]]
        given = np.ldexp(problem.targets[problem.block(k)], problem.target_exponent)
        weights = [proof[problem.block(k)] for proof in self.proofs]
        made = np.full(len(given), np.nan)
        return ProvenRows(codes, potentials, made, None, given, np.reshape(weights, (-1, len(given))).astype(np.int64))


def _wide(codes: Sequence[IntArray]) -> list[IntArray]:
    return [np.asarray(code, dtype=np.int64) for code in codes]


def project_by_rows(
    reference: StoredTable,
    constraints: tuple[Constraint, ...],
    solver: LBFGS,
    stopping: Stopping,
    start: Any,
    callback: Callback[RowsPoint] | None,
) -> Projection[StoredTable]:
    """Return the projection of a stored table by L-BFGS on its dual.

    Any chunks serve, and every value of the dual is one pass over them. There is no checkpoint and no certificate; the
    potentials so far are in what is returned, and `start` continues from them. Where a run gains little, or stands
    still, the verdict on feasibility is requested, as in memory: zeros that the constraints force are left out.

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
        raise InvalidOptionError("L-BFGS on disk proves no bound: stop_on must be 'residual'")
    folder = reference.workspace / f"rows-{problem_name(reference, constraints, 'rows')}"
    problem = row_problem_of(reference, constraints, folder)
    space, potentials = RowsSpace(problem), np.zeros(int(problem.offsets[-1]))
    # sums of the reference: they show rows without profiles, and are those of the first point as well
    found_there = space.sums(potentials)
    bare = ~(found_there.sums["rows"] > 0)
    refuse_bare_rows(bare, range(len(problem.scopes)), problem.codes, problem.scopes, reference.domain)
    point = (
        space.make_point(potentials, found_there) if start is None else space.at(_starting_potentials(problem, start))
    )
    verdict = RowsVerdict(LazyVerdict(lambda: _diagnose(reference, constraints)), solver, space)
    outcome = solve(verdict.stage(begin(space, point, at_reference=start is None)), stopping, verdict, callback)
    point, problem, found = outcome.iterate, verdict.space.problem, verdict.lazily.diagnosis
    notes = [_NOTE, *outcome.notes]
    if found is not None and found.verdict is Verdict.OPEN:
        notes.append(" ".join(found.explanation.sentences))
    return Projection(
        termination=outcome.termination,
        certified=False,
        residual=outcome.residual.largest,
        residual_l1=outcome.residual.l1,
        divergence=verdict.space.divergence(point),
        bound=float("inf"),
        tv_bound=1.0,
        iterations=outcome.iterations,
        seconds=outcome.seconds,
        notes=tuple(notes),
        reference=reference,
        constraints=constraints,
        diagnosis=found,
        evidence=RowEvidence(
            reference=reference,
            path=folder,
            problem=problem,
            values=point.potentials,
            trace=trace_of(outcome.lines, float("inf"), problem.nats_left_out),
            proofs=verdict.proofs,
        ),
    )


def _diagnose(reference: StoredTable, constraints: tuple[Constraint, ...]) -> Diagnosis[StoredTable]:
    """Return the verdict on a problem that is not cut: it is cut for the verdict, where that can be.

    Where not, and no question that fits into memory refutes the constraints, the verdict is open and says why.
    """
    try:
        return diagnose_stored(reference, constraints)
    except NoSlabsError:
        reason = (
            f"no attributes divide these constraints into slabs, {reference.profiles} profiles are more than can "
            "be "
            f"diagnosed in memory by default ({IN_MEMORY}), and no coarser problem refutes the constraints; if "
            "the table fits into memory, diagnose its to_table()"
        )
        return leave_open(reference, constraints, reason)
    except (TooLargeError, StoreError) as error:
        return leave_open(reference, constraints, str(error))


@dataclass(slots=True, eq=False)
class RowsVerdict(FaceVerdict[StoredTable]):
    """The verdict on a problem by its rows; `space` becomes that of its face when the run continues there.

    Attributes
    ----------
    proofs
        What empties the zeros of the face: see `RowEvidence`.
    """

    solver: LBFGS
    space: RowsSpace
    proofs: tuple[IntArray, ...] = ()

    def face(self, state: State[RowsPoint]) -> Stage[RowsPoint]:
        """Return the problem that the implied zeros leave, where a run begins anew."""
        self.proofs = proofs_of(self.space.problem, witness_of(self.lazily.find()))
        self.space = RowsSpace(face_of_rows(self.space.problem, self.proofs))
        # from the reference: the potentials so far have begun to diverge
        return self.stage(begin(self.space, self.space.start()))

    def stage(self, state: State[RowsPoint]) -> Stage[RowsPoint]:
        """Return what the loop works on."""
        return Stage(self.space, state, partial(lbfgs_step, self.space, self.solver.memory))


def _as_tables(problem: RowProblem, potentials: FloatArray) -> tuple[Table, ...]:
    """Return potentials as tables, one per constraint, in the units of the reference and the targets as given."""
    # potentials were found for scaled masses and targets: the first constraint takes both scales
    shift = (problem.target_exponent - problem.reference_exponent) * np.log(2.0)
    tables = []
    for k, (scope, codes) in enumerate(zip(problem.scopes, problem.codes, strict=True)):
        domain = problem.reference.domain.select(scope)
        values = potentials[problem.block(k)] + (shift if k == 0 else 0.0)
        tables.append(sparse_table(domain, codes, values, name="potential"))
    return tuple(tables)


def _starting_potentials(problem: RowProblem, start: Any) -> FloatArray:
    tables = read_start(start, problem.scopes)
    found = np.zeros(int(problem.offsets[-1]))
    for k, (scope, codes) in enumerate(zip(problem.scopes, problem.codes, strict=True)):
        table = take_table(tables, scope)
        if table is not None:
            found[problem.block(k)] = values_at(table, problem.reference.domain.select(scope), codes)
    # -inf of zero targets, whose rows may have targets now
    found[~np.isfinite(found)] = 0.0
    return found
