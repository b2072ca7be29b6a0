"""Small problems whose answers are known exactly, each showing one thing that can happen."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from purtensor._options import is_number
from purtensor._typing import FloatArray
from purtensor.errors import InvalidOptionError
from purtensor.problems.named import NamedProblem, marginal_targets, number_domain
from purtensor.problems.pur import pur_targets
from purtensor.tables.domain import Domain

_TWO_WAY = ((0, 1), (1, 2), (0, 2))


def staircase() -> NamedProblem:
    """Return [[1, 1], [1, 0]] with all marginals 1: cell (1, 1) is 1 / (2n + 1) after n sweeps, and 0 in the limit."""
    ones = np.ones(2)
    return NamedProblem(
        name="staircase",
        kind="dense",
        description="[[1, 1], [1, 0]] with all marginals 1: on the boundary, sublinear",
        domain=_one_based(("row", "column")),
        masses=np.array([[1.0, 1.0], [1.0, 0.0]]),
        targets=(((0,), ones), ((1,), ones.copy())),
    )


def and_gate() -> NamedProblem:
    """Return the two-way marginals of z = x and y over the uniform: 110 has 1 / (12 n) after n sweeps, 0 in the limit.

    The order of the sweep is xy, yz, xz.
    """
    gate = np.zeros((2, 2, 2))
    gate[[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]] = 0.25
    return NamedProblem(
        name="and_gate",
        kind="dense",
        description="uniform with the two-way marginals of an AND gate: on the boundary, sublinear",
        domain=number_domain(("x", "y", "z"), gate.shape),
        masses=np.full(gate.shape, 1 / 8),
        targets=marginal_targets(gate, _TWO_WAY),
    )


def haberman() -> NamedProblem:
    """Return the uniform on 2 x 2 x 2 without 111 and 222, and two-way marginals that only one table has.

    Six profiles, six independent rows: no degree of freedom is left.
    """
    table = _haberman_table()
    return NamedProblem(
        name="haberman",
        kind="dense",
        description="2 x 2 x 2 with structural zeros at 111 and 222: the marginals determine the table",
        domain=_one_based(("a", "b", "c")),
        masses=np.where(table > 0, 1 / 6, 0.0),
        targets=marginal_targets(table, _TWO_WAY),
    )


def haberman_boundary() -> NamedProblem:
    """Return the same marginals over the uniform on all of 2 x 2 x 2: 111 and 222 are forced to zero."""
    table = _haberman_table()
    return NamedProblem(
        name="haberman_boundary",
        kind="dense",
        description="2 x 2 x 2 whose two-way marginals force 111 and 222 to zero: on the boundary",
        domain=_one_based(("a", "b", "c")),
        masses=np.full(table.shape, 1 / 8),
        targets=marginal_targets(table, _TWO_WAY),
    )


def proxy(added: float = 0.0) -> NamedProblem:
    """Return PUR where x equals s, with the mass `added` on each of the 8 profiles before normalising.

    Feasible from added = 0.05 on; at 0 the smallest L1 parity violation is 0.4.

    Parameters
    ----------
    added
        Mass a profile, the whole table having 1; at 0 the profiles with x other than s are structural zeros.

    Raises
    ------
    InvalidOptionError
        A negative or infinite mass.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.problems.proxy(0.05).profiles
    8
    """
    if not (is_number(added) and 0 <= added < sys.float_info.max / 16):  # eight profiles have it
        raise InvalidOptionError(f"added must be a finite mass that is not negative, got {added!r}")
    masses = np.zeros((2, 2, 2))
    masses[:, 0, 0] = 0.3, 0.2
    masses[:, 1, 1] = 0.1, 0.4
    masses += added
    masses /= masses.sum()
    return NamedProblem(
        name=f"proxy({added:g})" if added else "proxy",
        kind="pur",
        description="PUR where the unprotected attribute reveals the protected one: infeasible below 0.05 added mass",
        domain=number_domain(("y", "s", "x"), masses.shape),
        masses=masses,
        targets=pur_targets(masses),
    )


def cut_3x3() -> NamedProblem:
    """Return a 3 x 3 support where rows 2 and 3 have column 3 only, all marginals 1: infeasible, 2 against 1."""
    support = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    return NamedProblem(
        name="cut_3x3",
        kind="dense",
        description="rows 2 and 3 need 2 from column 3, which has 1: infeasible",
        domain=_one_based(("row", "column"), categories=3),
        masses=support,
        targets=(((0,), np.ones(3)), ((1,), np.ones(3))),
    )


def _haberman_table() -> FloatArray:
    table = np.array([[[0.0, 2.0], [3.0, 5.0]], [[4.0, 6.0], [4.0, 0.0]]])
    table /= table.sum()
    return table


def _one_based(attributes: tuple[str, ...], categories: int = 2) -> Domain:
    return Domain(attributes, tuple(pd.RangeIndex(1, categories + 1) for _ in attributes))
