"""The verdict on a stored table and constraints, slab by slab."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from purtensor._typing import Table
from purtensor.constraints.marginals import Marginal
from purtensor.errors import NoSlabsError
from purtensor.feasibility.diagnose import diagnose_table
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.explanation import Explanation
from purtensor.feasibility.verdict import Verdict
from purtensor.outofcore.array_file import make_folder
from purtensor.outofcore.check_certificate import Proven, keep_weights
from purtensor.outofcore.coarser_questions import coarse_contradiction
from purtensor.outofcore.diagnosis import StoredWitness, build_diagnosis, certificate_of, leave_open, refute_by_row
from purtensor.outofcore.engine import map_each
from purtensor.outofcore.part import read_labels
from purtensor.outofcore.prepare import slab_store_of
from purtensor.outofcore.proof_steps import Step, keep_bare, refute_everywhere
from purtensor.outofcore.restrict import restrict_to_face
from purtensor.outofcore.search import Solved, search_parts
from purtensor.outofcore.slab_store import SlabStore
from purtensor.outofcore.targets import BareRowError, Constraint, open_problem
from purtensor.outofcore.workspace import lock_question, problem_name
from purtensor.tables.domain import Domain
from purtensor.tables.store.table import StoredTable
from purtensor.tables.store.write import Piece, replace_table, write_pieces

IN_MEMORY = 1 << 16
"""Problems with at most this many profiles that remain open by slabs are diagnosed again in memory."""

_PROOF, _BARE, _COMBINED = "proof", "bare", "combined"
"""Where beside the states of a search that lies which proves its end."""


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """What the search came to: the steps that emptied profiles or refute, and its end, on the last of some problems."""

    steps: tuple[Step, ...]
    stores: tuple[SlabStore, ...]
    end: Solved | Proven | BareRowError | None

    @property
    def store(self) -> SlabStore:
        """The problem on which the search ended."""
        return self.stores[-1]

    def forget(self) -> None:
        """Remove what a search that broke off would continue from; what proves its end is left."""
        needed: tuple[str, ...] = (_PROOF, _BARE, _COMBINED)
        if isinstance(self.end, Solved):
            # the solution is written from these two states when it is asked for
            needed = (*needed, self.end.stand.token, self.end.change.token)
        for store in self.stores:
            store.checkpoint.unlink(missing_ok=True)
            for state in store.states.glob("*"):
                if state.name not in needed:
                    shutil.rmtree(state, ignore_errors=True)


def diagnose_stored(reference: Any, constraints: Any, *, in_memory: int = IN_MEMORY) -> Diagnosis[StoredTable]:
    """Return the verdict on a stored table, or one of chunks of dask; what `diagnose` calls for those.

    Rows without profiles and targets of zero are found when the table is cut; then Newton's steps look for a positive
    solution, or for whole numbers that prove that there is none, or that profiles are empty. What refutes the
    constraints is searched for in coarser questions, too, which refute it in fewer words.

    Parameters
    ----------
    in_memory
        Tables of up to so many profiles are diagnosed in memory where the slabs leave the question open.

    Raises
    ------
    NoSlabsError
        No attributes cut the constraints into slabs, the table is too large to be diagnosed in memory, and no coarser
        question refutes the constraints.
    TooLargeError, StoreError
        Memory or disk do not suffice.
    """
    with open_problem(reference, constraints) as (stored, flat), lock_question(stored, flat):
        try:
            store = slab_store_of(stored, flat, None)
        except BareRowError as bare:
            return refute_by_row(stored, flat, bare)
        except NoSlabsError:
            found = _diagnose_without_slabs(stored, flat, in_memory)
            if found is None:
                raise
            return found
        return diagnose_slabs(store, stored, flat, in_memory=in_memory)


def diagnose_slabs(
    store: SlabStore, reference: StoredTable, constraints: tuple[Constraint, ...], *, in_memory: int = IN_MEMORY
) -> Diagnosis[StoredTable]:
    """Return the verdict on a problem that is cut already; a run that continues from its states is not touched.

    A diagnosis that broke off before, with its process say, continues from the last step of its search.
    """
    found = _search(store, reference.domain)
    diagnosis = _conclude(store, reference, constraints, found, in_memory)
    # only after the conclusion, which reads what it removes
    found.forget()
    return diagnosis


def _conclude(
    store: SlabStore, reference: StoredTable, constraints: tuple[Constraint, ...], found: _Search, in_memory: int
) -> Diagnosis[StoredTable]:
    """Return the verdict that a search leads to, or questions that it leaves open."""
    if isinstance(found.end, Solved):
        return _conclude_solved(store, reference, constraints, found, found.end)
    outer = {name for k in store.outside for name in store.scopes[k]}
    if not isinstance(found.end, BareRowError):
        # a contradiction of fewer attributes is sought even where whole numbers refute: people can read it
        coarse = coarse_contradiction(reference, constraints, sorted(outer), store.key)
        if coarse is not None:
            return _as_in_memory(store.folder, reference, constraints, coarse, store)
    # nothing was emptied before: the row alone is the proof
    if isinstance(found.end, BareRowError) and not found.steps:
        return refute_by_row(reference, constraints, found.end)
    if found.end is not None:
        refuting = _on_all_profiles(store, reference.domain, found)
        if refuting is not None:
            return _refute(reference, constraints, refuting, found.end)
    if reference.profiles <= in_memory:
        return _as_in_memory(store.folder, reference, constraints, _in_memory(reference, constraints), store)
    return leave_open(reference, constraints)


def _diagnose_without_slabs(
    reference: StoredTable, constraints: tuple[Constraint, ...], in_memory: int
) -> Diagnosis[StoredTable] | None:
    """Return what is known of constraints that do not cut a table into slabs; None where nothing is."""
    folder = reference.workspace / f"verdict-{problem_name(reference, constraints, 'verdict')}"
    if reference.profiles <= in_memory:
        return _as_in_memory(folder, reference, constraints, _in_memory(reference, constraints))
    names = {name for constraint in constraints for name in constraint.scope}
    coarse = coarse_contradiction(reference, constraints, (), sorted(names))
    return None if coarse is None else _as_in_memory(folder, reference, constraints, coarse)


def _in_memory(reference: StoredTable, constraints: Sequence[Constraint]) -> Diagnosis:
    alike = [c if isinstance(c, Marginal) else c.in_memory() for c in constraints]
    return diagnose_table(reference.to_table(), alike)


def _search(store: SlabStore, domain: Domain) -> _Search:
    """Return where the search ends: each proof that empties profiles leaves a face, on which it begins again."""
    steps: list[Step] = []
    stores: list[SlabStore] = []
    while True:
        aside = replace(store, apart=True)
        # without a checkpoint nothing of an earlier search can be continued
        if not aside.checkpoint.exists():
            shutil.rmtree(aside.states, ignore_errors=True)
        stores.append(aside)
        try:
            end = search_parts(aside, domain)
            if not isinstance(end, Proven):
                return _Search(tuple(steps), tuple(stores), end)
            folder = aside.states / _PROOF
            checksums = map_each(keep_weights, aside.parts, end, folder)
            steps.append(Step(domain, folder, end))
            if end.infeasible:
                return _Search(tuple(steps), tuple(stores), end)
            # the search begins anew without the profiles that the proof empties
            store = restrict_to_face(aside, domain, folder, checksums)
        except BareRowError as bare:
            return _Search(tuple(steps), tuple(stores), bare)


def _conclude_solved(
    first: SlabStore, reference: StoredTable, constraints: tuple[Constraint, ...], found: _Search, end: Solved
) -> Diagnosis[StoredTable]:
    zeros = write_pieces(first.folder / "implied_zeros.zarr", reference.domain, _list_implied_zeros(first, found.steps))
    verdict = Verdict.BOUNDARY if zeros.profiles else Verdict.INTERIOR
    weights = _coupling_weights(reference, found.steps[-1]) if found.steps else ()
    sentences = [f"{verdict.sentence.capitalize()}."]
    if zeros.profiles:
        by_target = sum(len(values) for _, values in _zero_targets(first))
        sentences = [
            f"The constraints can be met, but they leave {zeros.profiles} of the profiles of the support without mass."
        ]
        if by_target:
            sentences.append(f"{by_target} of them lie in rows whose target is 0.")
    arithmetic = "boundary to rounding" if zeros.profiles else "interval"
    explanation = Explanation(tuple(sentences))
    witness = StoredWitness(explanation, reference, zeros, found.steps, store=found.store, found=end)
    return build_diagnosis(verdict, arithmetic, constraints, witness, weights)


def _list_implied_zeros(first: SlabStore, steps: Sequence[Step]) -> Iterator[Piece]:
    yield from _zero_targets(first)
    for step in steps:
        yield from step.list_emptied()


def _zero_targets(store: SlabStore) -> Iterator[Piece]:
    """Yield the profiles with mass that targets of zero empty."""
    for number in store.label_parts:
        codes, begin, values = read_labels(store, number)
        kept = values > 0
        if kept.any():
            yield [code[begin:][kept] for code in codes], values[kept]


def _on_all_profiles(store: SlabStore, domain: Domain, found: _Search) -> Step | None:
    """Return the step that refutes the constraints on all profiles; None where rounding may be all that it proves."""
    whole = replace(store, apart=True)
    if isinstance(found.end, BareRowError):
        folder = found.store.states / _BARE
        map_each(keep_bare, store.parts, found.store, domain, found.end, folder)
        return refute_everywhere(whole, domain, found.steps, folder, 1)
    # weights of the last step hold only where the earlier ones emptied: together they hold everywhere
    *before, last = found.steps
    return refute_everywhere(whole, domain, before, last.folder, last.proven.largest) if before else last


def _coupling_weights(reference: StoredTable, step: Step) -> tuple[Table, ...]:
    """Return a step's weights of the constraints that couple the slabs, nothing for the others."""
    store, weights = step.store, step.proven.outer
    blocks = zip(store.outer_codes, store.outer_blocks.items(), strict=True)
    own = {k: (codes, weights[rows]) for codes, (k, rows) in blocks}
    return certificate_of(reference, store.scopes, own)


def _refute(
    reference: StoredTable, constraints: tuple[Constraint, ...], step: Step, end: Proven | BareRowError
) -> Diagnosis[StoredTable]:
    # b.t < 0 is what has no place, as a share of the total
    missing = -step.proven.value * constraints[0].total
    rows = int(np.count_nonzero(step.proven.outer))
    sentences = [
        f"{Verdict.INFEASIBLE.sentence.capitalize()}: {missing:.4g} of {constraints[0].total:.4g} has no place.",
        f"The proof is a whole number for each row, {rows} of them for rows that couple the slabs; no contradiction of "
        "fewer attributes was found.",
    ]
    if isinstance(end, BareRowError):
        scope = ", ".join(constraints[end.constraint].scope)
        sentences = [
            f"{Verdict.INFEASIBLE.sentence.capitalize()}.",
            f"{end.row} has a positive target over ({scope}), and the support has no profile there that the other "
            "constraints leave.",
        ]
    witness = StoredWitness(Explanation(tuple(sentences)), reference, steps=(step,))
    return build_diagnosis(Verdict.INFEASIBLE, "interval", constraints, witness, _coupling_weights(reference, step))


def _as_in_memory(
    folder: Path,
    reference: StoredTable,
    constraints: tuple[Constraint, ...],
    diagnosis: Diagnosis,
    store: SlabStore | None = None,
) -> Diagnosis[StoredTable]:
    """Return a diagnosis in memory: of the whole problem, or of a coarser infeasible one."""
    zeros = None
    if diagnosis.implied_zeros.size and diagnosis.verdict is not Verdict.INFEASIBLE:
        make_folder(folder)
        zeros = replace_table(folder / "implied_zeros.zarr", diagnosis.implied_zeros)
    witness = StoredWitness(diagnosis.explanation, reference, zeros, settled=diagnosis, store=store)
    return build_diagnosis(diagnosis.verdict, diagnosis.exact, constraints, witness, diagnosis.certificate)
