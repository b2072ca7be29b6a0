"""A second opinion on a projection on disk, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from purtensor.errors import InvalidOptionError
from purtensor.outofcore.implied_zeros import ProvedZeros, without
from purtensor.outofcore.result import SlabEvidence
from purtensor.outofcore.rows_project import RowEvidence
from purtensor.outofcore.verification_sources import misses_of, source_of, targets_of
from purtensor.projection.result import Projection
from purtensor.tables.store.table import StoredTable
from purtensor.verification.stored import Profiles, Source, misses
from purtensor.verification.stored_sums import Sums, add_piece, divergence_of, figures, fingerprint, joined
from purtensor.verification.verify import Verification, unconfirmed


def verify_stored(result: Projection[StoredTable], *, exact: bool = False) -> Verification:
    """Return a recomputation of everything that a projection on disk claims; what `verify` calls for those.

    The residuals are summed by label from its written table and the targets. The bound is proved by the witness that
    the run left: potentials m whose change C^T m makes the table feasible, which is summed by label as well. So are the
    whole numbers that prove zeros which the constraints force.

    Raises
    ------
    InvalidOptionError
        `exact` was asked for: it is for small problems, in memory.
    StoreError
        What lies on disk is damaged, or of another run by now.
    """
    if exact:
        raise InvalidOptionError("exact=True is for small problems: verify the projection of table.to_table()")
    evidence = result.evidence
    if not isinstance(evidence, SlabEvidence | RowEvidence):
        raise InvalidOptionError(f"result must be a Projection of a stored table, got one of {type(evidence)}")
    domain, scopes = result.reference.domain, evidence.scopes
    sums = Sums()
    proved = ProvedZeros(result, evidence)
    emptied = 0
    for piece in evidence.pieces(result.table):
        empty = proved.of(piece)
        emptied += int(empty.sum())
        for one in without(piece, empty):
            add_piece(sums, one, domain, scopes)
    if emptied and not proved.hold():
        sums.lost += emptied
    total = result.constraints[0].total

    def changed() -> Iterator[Profiles]:
        for piece in evidence.pieces(result.table):
            masses = add_piece(Sums(), piece, domain, scopes)
            yield piece.codes, masses * (total / sums.mass)

    feasible = Source(domain, changed)
    reached = [misses_of(result.table, constraint) for constraint in result.constraints]
    after = [
        misses(feasible, targets_of(c), c.scope)[1] if result.certified else float("inf") for c in result.constraints
    ]
    found = figures(sums, reached, after)
    failures = _check_support(result, sums)
    support = not failures
    claims: Any = result  # with all that is read there; its tables are elsewhere
    divergence = divergence_of(sums)
    failures += unconfirmed(claims, sums.largest_potential, found, divergence)
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
    )


def _check_support(result: Projection[StoredTable], sums: Sums) -> list[str]:
    failures = []
    reference = (0, 0)
    for codes, values in source_of(result.reference).profiles():
        reference = joined(reference, fingerprint(codes, values))
    if reference != sums.reference:
        failures.append("the run is not about the profiles and masses of the reference as it lies on disk")
    if sums.strays:
        failures.append(f"the table has mass on {sums.strays} profiles that a zero target excludes")
    if sums.lost:
        failures.append(f"the table is empty on {sums.lost} profiles that the constraints were not found to empty")
    return failures
