"""PUR problems on parts of a population's profiles, as the arrays that solvers see."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.slabs import in_slab_order
from purtensor.constraints.system import System
from purtensor.errors import InfeasibleError
from purtensor.kernels.reductions import group_sums
from purtensor.solving.problem import Problem
from purtensor.studies.population import Population
from purtensor.tables.grouping import smallest_unsigned


def subproblem(population: Population, masses: FloatArray, conditions: str) -> tuple[Problem, IntArray]:
    """Return the projection of `masses` onto conditions, and which of their entries each profile of the problem is.

    The support is where `masses` are positive: each simulated data set has its own.

    Parameters
    ----------
    masses
        Shape (predictor profiles, responses): the reference, from which the targets come too; total 1.
    conditions
        Letters of P, U, R.

    Raises
    ------
    InfeasibleError
        Parity gives mass to a pair of response and protected profile that has no profile.
    """
    cells = np.flatnonzero(masses)
    values = masses.reshape(-1)[cells]
    row, y = np.divmod(cells, population.responses)
    s, x = population.protected[row], population.unprotected[row]
    makers = {"P": _parity, "U": _utility, "R": _realism}
    parts = [makers[letter](population, values, y, s, x) for letter in conditions]
    sizes = [len(target) for _, target, _ in parts]
    roles = population.roles
    scopes = {
        "P": (roles.response, *roles.protected),
        "U": (roles.response, *roles.unprotected),
        "R": (*roles.protected, *roles.unprotected),
    }
    system = System(
        index=np.array([index for index, _, _ in parts], dtype=smallest_unsigned(max(sizes))),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        targets=np.concatenate([target for _, target, _ in parts]),
        domain=population.domain,
        scopes=tuple(scopes[letter] for letter in conditions),
        row_codes=tuple(codes for _, _, codes in parts),
    )
    total = float(system.targets[system.block(0)].sum())
    arranged, slabs, order = in_slab_order(system)
    return Problem(values[order], arranged, total, slabs), cells[order]


# of one constraint: the row of each profile, the targets, and the category codes of the rows
_Part = tuple[IntArray, FloatArray, tuple[IntArray, ...]]


def _parity(population: Population, values: FloatArray, y: IntArray, s: IntArray, x: IntArray) -> _Part:
    responses, own_y = np.unique(y, return_inverse=True)
    groups, own_s = np.unique(s, return_inverse=True)
    index = own_y * len(groups) + own_s
    # such a pair has the target f(y) f(s) > 0, and no profile to meet it
    if len(np.unique(index)) < len(responses) * len(groups):
        raise InfeasibleError("parity requires mass for a response and protected profile that occur in no profile")
    of_y = _sums(own_y, values)
    target = np.outer(of_y / of_y.sum(), _sums(own_s, values)).reshape(-1)
    codes = (
        np.repeat(responses, len(groups)),
        *(np.tile(code[groups], len(responses)) for code in population.protected_codes),
    )
    return index, target, codes


def _utility(population: Population, values: FloatArray, y: IntArray, s: IntArray, x: IntArray) -> _Part:
    pairs, index = np.unique(y * len(population.protected) + x, return_inverse=True)
    response, slab = np.divmod(pairs, len(population.protected))
    return index, _sums(index, values), (response, *(code[slab] for code in population.unprotected_codes))


def _realism(population: Population, values: FloatArray, y: IntArray, s: IntArray, x: IntArray) -> _Part:
    pairs, index = np.unique(x * len(population.protected_codes[0]) + s, return_inverse=True)
    slab, group = np.divmod(pairs, len(population.protected_codes[0]))
    codes = (
        *(code[group] for code in population.protected_codes),
        *(code[slab] for code in population.unprotected_codes),
    )
    return index, _sums(index, values), codes


def _sums(index: IntArray, values: FloatArray) -> FloatArray:
    """Return the sums of the rows, compensated: targets that disagree by more than rounding leave nothing to prove."""
    sums: FloatArray = group_sums(values, index, int(index.max()) + 1)
    return sums
