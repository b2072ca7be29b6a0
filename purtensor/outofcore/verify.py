"""A second opinion on a projection on disk, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.errors import InvalidOptionError
from purtensor.outofcore.implied_zeros import ProvedZeros, split_piece
from purtensor.outofcore.result import SlabEvidence, evidence_of
from purtensor.outofcore.targets import misses_of, source_of, targets_of
from purtensor.projection.result import Projection
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import group_profiles
from purtensor.tables.memory import available_memory
from purtensor.tables.store.table import StoredTable
from purtensor.tables.translate import category_map
from purtensor.verification.bounds import prove_with
from purtensor.verification.evidence import Block, Evidence
from purtensor.verification.exact import Figures
from purtensor.verification.implied_zeros import Emptied
from purtensor.verification.stored import Source
from purtensor.verification.stored_sums import Piece, Sums, add_piece, divergence_of, fingerprint, join_fingerprints
from purtensor.verification.verify import Verification, find_unconfirmed

_BYTES_OF_A_PROFILE, _BYTES_OF_A_ROW = 1000, 64


def verify_stored(result: Projection[StoredTable], *, exact: bool = False) -> Verification:
    """Return a recomputation of everything that a projection on disk claims; what `verify` calls for those.

    The residuals are summed by label from its written table and the targets, and so are the whole numbers that prove
    zeros which the constraints force. The bound is proved from the witness that the run left, potentials m whose change
    C^T m makes the table all but feasible, by the code for tables in memory: this takes about a kilobyte a profile.
    Where so much is not there, nothing is proved, and a bound that is claimed is reported as not confirmed.

    Raises
    ------
    InvalidOptionError
        `exact` was requested: it is for small problems, in memory.
    StoreError
        What lies on disk is damaged, or of another run by now.
    """
    if exact:
        raise InvalidOptionError("exact=True supports small problems only: verify the projection of table.to_table()")
    evidence = evidence_of(result)
    domain, scopes = result.reference.domain, evidence.store.scopes
    sums = Sums()
    # as in memory, the total of the first constraint is the unit of all figures
    total = float(sum(values.sum() for _, values in targets_of(result.constraints[0]).profiles()))
    proved = ProvedZeros(result, evidence)
    emptied: list[BoolArray] = []
    for piece in evidence.pieces(result.table):
        empty = proved.of(piece)
        emptied.append(empty)
        for one in split_piece(piece, empty):
            add_piece(sums, one, domain, scopes, total)
    by_proofs = np.concatenate(emptied)
    holds = proved.hold()
    if by_proofs.any() and not holds:
        # zeros whose proofs fail are lost mass like any other
        sums.lost += int(by_proofs.sum())
    zeros = (by_proofs & holds, proved.mass())
    reached = [misses_of(result.table, constraint) for constraint in result.constraints]
    residual, residual_l1 = (max(one[n] for one in reached) for n in (0, 1))
    found = Figures(residual, residual_l1, sums.membership, *_bounds(result, evidence, zeros))
    failures = _check_support(result, sums)
    support = not failures
    claims: Any = result  # with all that is read there; its tables are elsewhere
    divergence = divergence_of(sums)
    failures += find_unconfirmed(claims, sums.largest_potential, found, divergence)
    return Verification(
        residual=found.residual,
        residual_l1=found.residual_l1,
        membership=found.membership,
        divergence=divergence,
        bound=found.bound,
        tv_bound=found.tv_bound,
        support=support,
        exact=False,
        failures=tuple(failures),
        log_ratio_bound=found.log_ratio_bound,
    )


def _bounds(
    result: Projection[StoredTable], evidence: SlabEvidence, zeros: tuple[BoolArray, float]
) -> tuple[float, float, float, bool | None]:
    """Return the bounds that the witness proves; inf, 1 and inf without a witness, or with too little memory.

    They are of the divergence, the total variation and the log ratios; beside them is whether the rows that the run
    named are those that are met.

    `zeros` are the profiles that the constraints empty, and what these may have together.
    """
    # counted first, in a pass, so that what memory cannot hold is never gathered
    profiles = sum(len(piece.masses) for piece in evidence.pieces(result.table)) if result.certified else 0
    need = profiles * (_BYTES_OF_A_PROFILE + _BYTES_OF_A_ROW * len(evidence.store.scopes))
    if not profiles or need > available_memory():
        return float("inf"), 1.0, float("inf"), None
    gathered, witness = _gather(list(evidence.pieces(result.table)), result, evidence.store.scopes)
    # the run kept none
    if all(np.isnan(own).all() for own in witness):
        return float("inf"), 1.0, float("inf"), None
    proved, mass = zeros
    lost = np.asarray((gathered.masses == 0) & ~gathered.excluded)
    emptied = Emptied(lost & proved, mass, lost & ~proved)
    with np.errstate(all="ignore"):
        proof = prove_with(gathered, emptied, witness)
    return proof.bound, proof.tv_bound, proof.log_ratio_bound, proof.keeps_named


def _check_support(result: Projection[StoredTable], sums: Sums) -> list[str]:
    failures = []
    reference = (0, 0)
    # pieces come from the run's own files: their profiles and masses must be those of the reference
    for codes, values in source_of(result.reference).profiles():
        reference = join_fingerprints(reference, fingerprint(codes, values))
    if reference != sums.reference:
        failures.append("the run was made with other profiles or masses than those of the reference on disk")
    if sums.strays:
        failures.append(f"the table has mass on {sums.strays} profiles that a zero target excludes")
    if sums.lost:
        failures.append(f"the table is empty on {sums.lost} profiles that are not proved to be implied zeros")
    return failures


def _gather(
    pieces: Sequence[Piece], result: Projection[StoredTable], scopes: Sequence[tuple[str, ...]]
) -> tuple[Evidence, list[FloatArray]]:
    """Return the evidence of a projection on disk, in memory, and the witness of its bound, one array per constraint.

    Rows are matched by label; those without a witness have NaN.
    """
    domain = result.reference.domain
    codes = [
        np.concatenate([np.asarray(piece.codes[k], dtype=np.int64) for piece in pieces])
        for k in range(len(domain.attributes))
    ]
    blocks, witness = [], []
    for k, (scope, constraint) in enumerate(zip(scopes, result.constraints, strict=True)):
        own = domain.select(scope)
        target_codes, values = _read_targets(targets_of(constraint), own)
        rows = [piece.rows[k] for piece in pieces]
        row_codes = [
            np.concatenate([np.asarray(one.codes[n], dtype=np.int64) for one in rows]) for n in range(len(scope))
        ]
        columns = [codes[domain.position(name)] for name in scope]
        joint = [np.concatenate(parts) for parts in zip(columns, target_codes, row_codes, strict=True)]
        group = group_profiles(joint, own.sizes)[0]
        profiles, listed, count = len(columns[0]), len(values), int(group.max(initial=-1)) + 1
        targets, potentials, made = np.zeros(count), np.full(count, np.nan), np.full(count, np.nan)
        np.add.at(targets, group[profiles : profiles + listed], values)  # of a table, they are its marginal
        potentials[group[profiles + listed :]] = np.concatenate([one.potentials for one in rows])
        made[group[profiles + listed :]] = np.concatenate([one.witness for one in rows])
        named: BoolArray | None = None
        # a part without profiles has no rows, and names none
        marks = [one.named for one in rows if len(one.potentials)]
        if all(own is not None for own in marks):
            named = np.zeros(count, dtype=bool)
            named[group[profiles + listed :]] = np.concatenate([own for own in marks if own is not None])
        blocks.append(Block(group[:profiles], targets, potentials, named))
        witness.append(made)
    reference, masses = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("reference", "masses"))
    return Evidence(reference, masses, tuple(blocks), ""), witness


def _read_targets(targets: Source, domain: Domain) -> tuple[list[IntArray], FloatArray]:
    """Return the codes of targets in a domain's categories, and their values; a target beyond them counts nowhere."""
    order = [targets.domain.position(name) for name in domain.attributes]
    maps = [
        category_map(targets.domain.categories[n], labels) for n, labels in zip(order, domain.categories, strict=True)
    ]
    columns: list[list[IntArray]] = [[] for _ in order]
    values = []
    for codes, masses in targets.profiles():
        moved = [m[np.asarray(codes[n], dtype=np.int64)] for n, m in zip(order, maps, strict=True)]
        listed = np.all([column >= 0 for column in moved], axis=0)
        for column, own in zip(columns, moved, strict=True):
            column.append(own[listed])
        values.append(np.asarray(masses, dtype=np.float64)[listed])
    return [np.concatenate(column) for column in columns], np.concatenate(values)
