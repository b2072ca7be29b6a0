"""The verdict on a stored table and constraints: small proofs in memory, large ones on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from purtensor._typing import BoolArray, IntArray, Table
from purtensor.constraints.marginals import Marginal, StoredMarginal
from purtensor.constraints.system import System
from purtensor.errors import InvalidOptionError
from purtensor.feasibility.diagnosis import Diagnosis, refuse_stored
from purtensor.feasibility.explanation import Explanation
from purtensor.feasibility.targets import ROUNDING
from purtensor.feasibility.verdict import Decision, Verdict
from purtensor.kernels.reductions import spread
from purtensor.outofcore.array_file import read_packed
from purtensor.outofcore.check_certificate import LARGEST
from purtensor.outofcore.part import read_labels
from purtensor.outofcore.passes import open_part
from purtensor.outofcore.proof_steps import Step
from purtensor.outofcore.search import Solved
from purtensor.outofcore.slab_store import SlabStore
from purtensor.outofcore.targets import BareRowError, Constraint, misses_of, source_of
from purtensor.tables.coded import domain_of, read_codes, sparse_table
from purtensor.tables.domain import Domain
from purtensor.tables.store.table import StoredTable
from purtensor.tables.store.write import Piece, replace_table, write_pieces
from purtensor.tables.translate import values_at
from purtensor.verification.stored_sums import Fingerprint, fingerprint, join_fingerprints


@dataclass(frozen=True, eq=False)
class StoredWitness:
    """What a verdict on a stored table rests on, the proof on disk: see `Diagnosis` for each attribute.

    Attributes
    ----------
    zeros
        The implied zeros; None where there are none, or no solution.
    steps
        Whole numbers that refute the constraints, or empty profiles one after the other.
    settled
        The diagnosis in memory that decides: of the whole question, or of a coarser one that cannot be met.
    store, found
        The problem on which the search ended, and the solution there.
    """

    explanation: Explanation
    reference: StoredTable
    zeros: StoredTable | None = None
    steps: tuple[Step, ...] = ()
    settled: Diagnosis | None = None
    store: SlabStore | None = None
    found: Solved | None = None

    @cached_property
    def implied_zeros(self) -> StoredTable:
        """The profiles that are empty in every solution."""
        if self.zeros is not None:
            return self.zeros
        return write_pieces(self.reference.workspace / "no_zeros.zarr", self.reference.domain, ())

    @cached_property
    def solution(self) -> StoredTable | None:
        """A stored table that meets the constraints to rounding, with mass on every profile but the implied zeros.

        Written at the first access; None where there is none.
        """
        if self.store is None:
            return None
        place = self.store.folder / "solution.zarr"
        # a problem that was settled in memory has its solution there
        if self.settled is not None and self.settled.solution is not None:
            return replace_table(place, self.settled.solution)
        if self.found is None:
            return None
        return write_pieces(place, self.reference.domain, self._solution_pieces(self.store, self.found))

    @property
    def at_bound(self) -> Table:
        """Refuse: it is worked out in memory."""
        raise refuse_stored("at_bound")

    def in_memory(self, what: str) -> tuple[System, Decision]:
        """Refuse: it is worked out in memory."""
        raise refuse_stored(what)

    def _solution_pieces(self, store: SlabStore, found: Solved) -> Iterator[Piece]:
        for number in store.parts:
            codes, count, _ = read_labels(store, number)
            part, potentials = open_part(store, number, found.stand.token, found.stand.outer)
            made = read_packed(store.state(found.change.token, number)).arrays["made"]
            masses = part.masses(potentials) * found.change.scale
            change = np.empty_like(masses)
            spread(part.index, part.offsets, made, change)
            # p (1 + w), which meets the targets to rounding, in the units given
            yield [code[:count] for code in codes], np.ldexp(masses * (1.0 + change), store.target_exponent)

    @property
    def has_face(self) -> bool:
        """Whether floats distinguish the weights of a diagnosis in memory, which are as large as they need to be."""
        if self.settled is None:
            return True
        return all(int(np.abs(table.values).max(initial=0)) <= LARGEST for table in self.settled.certificate)

    def certificate_chunks(self, diagnosis: Diagnosis[StoredTable]) -> Iterator[tuple[Table, ...]]:
        """Yield the whole proof: for each step and part a table of weights for each constraint."""
        if not self.steps and diagnosis.certificate:
            yield diagnosis.certificate
        for step in self.steps:
            yield from step.chunks()

    def verify(self, diagnosis: Diagnosis[StoredTable]) -> bool:
        """Return whether the witness proves the verdict, recomputed from what is on disk."""
        if diagnosis.verdict is Verdict.OPEN or not (all(step.holds() for step in self.steps) and self._follow()):
            return False
        if self.settled is not None:
            return self.settled.verify()
        # steps hold, and follow on each other: the last one refutes; without any, one row without a profile must
        if diagnosis.verdict is Verdict.INFEASIBLE:
            return bool(self.steps) or _is_bare(diagnosis)
        return _is_solved(diagnosis)

    def _follow(self) -> bool:
        """Return whether each step is about the profiles that the ones before left, and the solution about the last."""
        stores = [step.store for step in self.steps[1:]]
        if self.found is not None and self.store is not None:
            stores.append(self.store)
        for step, store in zip(self.steps, stores, strict=False):
            # hashes instead of the profiles: both sides come part by part, in orders of their own
            left = hash_profiles(step.list_left())
            if left != hash_profiles(problem_codes(store)):
                return False
        return True


def _is_bare(diagnosis: Diagnosis[StoredTable]) -> bool:
    """Return whether the one row of the certificate has a target, and no profile that other targets leave."""
    for k, table in enumerate(diagnosis.certificate):
        if np.any(table.values):
            row = table[np.flatnonzero(table.values)[:1]]
            codes = [np.asarray(code, dtype=np.int64) for code in read_codes(row, domain_of(row))]
            return bool(_positive(diagnosis.constraints[k], diagnosis.reference.domain, codes).all()) and not _has_room(
                diagnosis, k, codes
            )
    return False


def _has_room(diagnosis: Diagnosis[StoredTable], k: int, row: Sequence[IntArray]) -> bool:
    """Return whether a profile of a row of constraint k has mass in the reference, and targets everywhere else."""
    domain = diagnosis.reference.domain
    places = [domain.position(name) for name in diagnosis.constraints[k].scope]
    for codes, values in source_of(diagnosis.reference).profiles():
        room = values > 0
        for place, code in zip(places, row, strict=True):
            room &= np.asarray(codes[place], dtype=np.int64) == code
        # a zero target of another constraint takes the room as well
        for j, other in enumerate(diagnosis.constraints):
            if j != k and room.any():
                own = [np.asarray(codes[domain.position(name)], dtype=np.int64)[room] for name in other.scope]
                room[room] = _positive(other, domain, own)
        if room.any():
            return True
    return False


def _is_solved(diagnosis: Diagnosis[StoredTable]) -> bool:
    solution = diagnosis.solution
    if solution is None:
        return False
    lowest = min(float(chunk.min()) for chunk in solution.chunks())
    with_mass = (
        [np.asarray(code)[values > 0] for code in codes] for codes, values in source_of(diagnosis.reference).profiles()
    )
    tables = [solution, diagnosis.implied_zeros]
    listed = (codes for table in tables for codes, _ in source_of(table).profiles())
    allowed = float(ROUNDING)
    return (
        lowest > 0.0
        and hash_profiles(listed) == hash_profiles(with_mass)
        and all(misses_of(solution, constraint)[0] <= allowed for constraint in diagnosis.constraints)
    )


def build_diagnosis(
    verdict: Verdict,
    exact: str,
    constraints: tuple[Constraint, ...],
    evidence: StoredWitness,
    certificate: tuple[Table, ...] = (),
) -> Diagnosis[StoredTable]:
    """Return the verdict on a stored table that a witness proves."""
    return Diagnosis(
        verdict=verdict,
        certificate=certificate,
        exact=exact,
        reference=evidence.reference,
        constraints=constraints,
        evidence=evidence,
    )


def witness_of(diagnosis: Diagnosis[StoredTable]) -> StoredWitness:
    """Return what a verdict on a stored table rests on."""
    if not isinstance(diagnosis.evidence, StoredWitness):
        raise InvalidOptionError("this must be the diagnosis of a stored table, got one in memory")
    return diagnosis.evidence


def hash_profiles(pieces: Iterable[Sequence[IntArray]]) -> Fingerprint:
    """Return how many profiles there are, and a hash of their codes that no order changes."""
    found: Fingerprint = (0, 0)
    for codes in pieces:
        # all masses 1: only which profiles there are counts
        found = join_fingerprints(found, fingerprint(codes, np.ones(len(codes[0]))))
    return found


def problem_codes(store: SlabStore) -> Iterator[list[IntArray]]:
    """Yield the codes of the profiles of a problem, part by part."""
    for number in store.parts:
        codes, count, _ = read_labels(store, number)
        yield [code[:count] for code in codes]


def _positive(constraint: Marginal | StoredMarginal, domain: Domain, rows: Sequence[IntArray]) -> BoolArray:
    """Mark the rows of a constraint, by their codes in a domain, that have a positive target."""
    onto = domain.select(constraint.scope)
    if isinstance(constraint, Marginal):
        return np.asarray(values_at(constraint.target, onto, rows) > 0)
    found = np.zeros(len(rows[0]), dtype=bool)
    for chunk in constraint.table.chunks():
        # a row may be in any chunk of a stored target
        found |= values_at(chunk[chunk.values > 0], onto, rows) > 0
    return found


def certificate_of(
    reference: StoredTable,
    scopes: Sequence[tuple[str, ...]],
    weights: Mapping[int, tuple[Sequence[IntArray], IntArray]],
) -> tuple[Table, ...]:
    """Return weights as tables, one per constraint: of some constraints the codes of rows and their whole numbers."""
    tables = []
    for k, scope in enumerate(scopes):
        codes, values = weights.get(k, ([np.empty(0, dtype=np.int64)] * len(scope), np.empty(0, dtype=np.int64)))
        tables.append(sparse_table(reference.domain.select(scope), list(codes), values, name="certificate"))
    return tuple(tables)


def refute_by_row(
    reference: StoredTable, constraints: tuple[Constraint, ...], bare: BareRowError
) -> Diagnosis[StoredTable]:
    """Return the diagnosis of a row that has a target and no profile."""
    # -1 on a row without profiles: C^T t = 0 everywhere, and b.t is minus its target (notes/feasibility.md)
    weights = {bare.constraint: ([np.array([code]) for code in bare.codes], np.array([-1]))}
    certificate = certificate_of(reference, [constraint.scope for constraint in constraints], weights)
    scope = ", ".join(constraints[bare.constraint].scope)
    explanation = Explanation(
        (
            f"{Verdict.INFEASIBLE.sentence.capitalize()}.",
            f"{bare.row} has a positive target over ({scope}), and the support has no profile there.",
        )
    )
    return build_diagnosis(
        Verdict.INFEASIBLE, "rational", constraints, StoredWitness(explanation, reference), certificate
    )


def leave_open(reference: StoredTable, constraints: tuple[Constraint, ...], reason: str = "") -> Diagnosis[StoredTable]:
    """Return the verdict that the question is open, and why where that is known."""
    sentences = [f"{Verdict.OPEN.sentence.capitalize()}.", *([f"{reason[0].upper()}{reason[1:]}."] if reason else [])]
    return build_diagnosis(
        Verdict.OPEN, "nothing", constraints, StoredWitness(Explanation(tuple(sentences)), reference)
    )
