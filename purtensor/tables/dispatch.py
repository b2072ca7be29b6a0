"""What works on tables that do not lie in memory."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from purtensor._typing import Table
from purtensor.tables.store.open_store import StoredTable

_ENGINES = {
    "project": "purtensor.outofcore.project.project_stored",
    "diagnose": "purtensor.outofcore.diagnose.diagnose_stored",
    "load": "purtensor.outofcore.saved_results.load_stored",
    "save": "purtensor.outofcore.saved_results.save_stored",
}


def engine_of(reference: Any, work: str) -> Callable[..., Any] | None:
    """Return what does some work on this reference, None where it lies in memory."""
    chunked = isinstance(reference, Table) and reference.chunks is not None
    return engine(work) if chunked or isinstance(reference, StoredTable) else None


def engine(work: str) -> Callable[..., Any]:
    """Return what does some work on tables on disk.

    It is a layer above those that ask, and needs packages that others do not: it is found by its name.
    """
    module, name = _ENGINES[work].rsplit(".", 1)
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found
