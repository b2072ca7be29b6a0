"""Where tables are projected that do not lie in memory."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from purtensor._typing import Table
from purtensor.tables.stored import StoredTable


def engine_of(reference: Any) -> Callable[..., Any] | None:
    """Return what projects this reference, None where it lies in memory.

    The engine is a layer above this one and needs packages that others do not: it is found by its name.
    """
    chunked = isinstance(reference, Table) and reference.chunks is not None
    if not chunked and not isinstance(reference, StoredTable):
        return None
    engine: Callable[..., Any] = importlib.import_module("purtensor.distributed.project").project_stored
    return engine
