"""The verdict on a reference and constraints, wherever the reference is."""

from __future__ import annotations

from typing import Any, cast, overload

import purtensor.outofcore as outofcore
from purtensor._typing import Table, TableT
from purtensor.constraints.marginals import Constraints, as_constraints
from purtensor.errors import InvalidOptionError
from purtensor.feasibility.diagnose import diagnose_table
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.row_witness import diagnose_rows
from purtensor.kernels.engine import engine_for
from purtensor.projection.options import refuse_changes
from purtensor.solving.dual.labelled import build_question
from purtensor.solving.dual.options import Bounds, GeneralOptions, general_constraints, is_plain
from purtensor.tables.coded import domain_of
from purtensor.tables.store.table import StoredTable, is_chunked


@overload
def diagnose(reference: TableT, constraints: Constraints) -> Diagnosis[TableT]: ...
@overload
def diagnose(
    reference: TableT,
    constraints: Any,
    *,
    ratio_bounds: Bounds = None,
    cell_bounds: Bounds = None,
    total: str | float = "constrained",
    signed: bool = False,
) -> Diagnosis[TableT]: ...
def diagnose(
    reference: TableT,
    constraints: Any,
    *,
    ratio_bounds: Bounds = None,
    cell_bounds: Bounds = None,
    total: str | float = "constrained",
    signed: bool = False,
) -> Diagnosis[TableT]:
    """Decide whether the constraints can be met on the support of the reference, with a proof and an explanation.

    Parameters
    ----------
    reference
        A table, of which only the support matters. A stored table, or one of dask chunks, is diagnosed slab by slab,
        and the proof of the verdict stays on disk.
    constraints
        A constraint of any kind, or an iterable of them, flattened one level.
    ratio_bounds, cell_bounds, total, signed
        As in `project`. With them, or with constraints other than Marginals with targets, the `explanation` states
        which values the rows can reach within the bounds.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError
        The input is invalid; the message names the fault.

    Examples
    --------
    >>> import purtensor as pt
    >>> f = pt.tabulate({"hired": ["no", "yes", "no"], "sex": ["f", "m", "m"], "team": ["a", "b", "b"]})
    >>> diagnosis = pt.diagnose(f, pt.pur(f, response="hired", protected="sex"))
    >>> str(diagnosis.verdict), diagnosis.verify()
    ('infeasible', True)

    Bounds that no weights meet, with what conflicts and what would do:

    >>> people = pt.tabulate({"sex": ["f", "f", "m"], "age": ["old", "old", "young"]})
    >>> half = pt.total(1, by="sex", target={"f": 1.5, "m": 1.5})
    >>> bounded = pt.diagnose(people, half, ratio_bounds=(0.5, 1.2))
    >>> print(str(bounded.explanation).partition(";")[0])
    with weights between 0.5 and 1.2 times, count by sex, sex=m can reach 1.2, target 1.5
    >>> bounded.explanation.conflict, bounded.explanation.bounds, bounded.verify()
    (('count by sex, sex=m',), ('sex=m, age=young at most 1.2',), True)
    """
    options = GeneralOptions(ratio_bounds, cell_bounds, "kl", total, None, signed)
    if isinstance(reference, StoredTable) or is_chunked(reference):
        if not options.plain:
            raise InvalidOptionError("tables on disk can be diagnosed with marginals only, without bounds or totals")
        return cast("Diagnosis[TableT]", outofcore.diagnose_stored(reference, constraints))
    table, given = cast(Table, reference), general_constraints(constraints)
    with refuse_changes(table, given):
        if not is_plain(given, options):
            rows = build_question(table, given, options)
            return cast("Diagnosis[TableT]", diagnose_rows(rows, options.in_words()))
        flat = as_constraints(given)
        domain_of(table)  # what is not a table has no size either
        with engine_for(table.size * len(flat)):
            return cast("Diagnosis[TableT]", diagnose_table(table, flat))
