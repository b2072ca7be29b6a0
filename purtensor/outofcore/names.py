"""Names of what lies in a workspace: hashes of what it is made of, so that no two questions share a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pandas as pd

from purtensor.constraints.marginals import Marginal, StoredMarginal
from purtensor.errors import StoreError
from purtensor.outofcore.targets import Constraint
from purtensor.tables.store.open_store import StoredTable


def identity_of(table: StoredTable) -> str:
    """Return an identifier of a stored table that differs from all others and from a later table at the same path.

    Raises
    ------
    StoreError
        It is not there any more.
    """
    try:
        # the time of writing, since reading a whole table for a hash would be a pass
        written = (table.path / "zarr.json").stat().st_mtime_ns
    except OSError as error:
        raise StoreError(f"{table.path} cannot be read: {error.strerror or error}") from error
    return f"{table.path.resolve()} {written}"


def problem_name(reference: StoredTable, constraints: Sequence[Constraint], option: object) -> str:
    """Return the name of a problem's folder: a hash of its tables, its targets, and of how it is laid out.

    Raises
    ------
    StoreError
        A table is not there any more.
    """
    digest = hashlib.sha256(f"{option}".encode())
    for table in [reference, *(c.table for c in constraints if isinstance(c, StoredMarginal))]:
        digest.update(identity_of(table).encode())
    for constraint in constraints:
        digest.update(f"{constraint.scope}".encode())
        if isinstance(constraint, Marginal):
            for array in (*constraint.coded.codes, constraint.coded.values):
                digest.update(np.ascontiguousarray(array).tobytes())
            # codes alone mean nothing: equal codes may stand for other labels
            for categories in constraint.coded.domain.categories:
                digest.update(pd.util.hash_array(categories.to_numpy()).tobytes())
    return digest.hexdigest()[:16]
