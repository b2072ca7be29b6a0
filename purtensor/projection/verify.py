"""A second opinion on a projection, wherever its numbers are."""

from __future__ import annotations

from typing import Any

import purtensor.outofcore as outofcore
from purtensor._options import check_flag
from purtensor.errors import InvalidOptionError
from purtensor.projection.result import Projection, as_stored
from purtensor.verification.evidence import Claims
from purtensor.verification.verify import Verification, verify_rows, verify_tables


def verify(result: Projection[Any] | Claims, *, exact: bool = False) -> Verification:
    """Return a recomputation of everything that a projection claims, from its labelled tables alone.

    It shares no code with the solvers, the coefficient builder or the kernels.

    Parameters
    ----------
    result
        A Projection; one of a stored table is verified piece by piece, its bound by the witness that the run left.
    exact
        Whether to enclose every number in rational arithmetic: proof to the last digit, for small problems.

    Raises
    ------
    InvalidOptionError
        `exact` was requested on a problem that is too large for it.
    UnknownAttributeError, UnknownCategoryError, InvalidTableError
        The tables of the result do not fit together, or are not tables.

    Examples
    --------
    >>> import purtensor as pt
    >>> reference = pt.tabulate({"sex": ["f", "m", "f"], "age": ["old", "old", "young"]})
    >>> half = pt.tabulate({"sex": ["f", "m"]})
    >>> result = pt.project(reference, pt.Marginal(half))
    >>> pt.verify(result).passed
    True
    """
    check_flag("exact", exact)
    if isinstance(result, Projection) and result.path is not None:
        return outofcore.verify_stored(as_stored(result), exact=exact)
    # anything with the fields of a Projection is verified: results of other software can be, too
    if not hasattr(result, "potentials"):
        raise InvalidOptionError(f"result must be the result of purtensor.project, got {type(result).__qualname__}")
    if isinstance(result, Projection) and result.is_general:
        if exact:
            raise InvalidOptionError("exact=True needs a projection onto marginals with targets, without bounds")
        return verify_rows(result)
    return verify_tables(result, exact=exact)
