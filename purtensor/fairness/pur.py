"""The three conditions of a fair distribution, as marginals that must hold: parity, utility and realism."""

from __future__ import annotations

import math
from typing import Literal, cast, overload

import numpy as np

from purtensor._options import check_flag
from purtensor._typing import Attributes, Table
from purtensor.constraints.linear import Linear
from purtensor.constraints.marginals import Marginal, StoredMarginal
from purtensor.errors import InvalidOptionError
from purtensor.fairness.conditional_parity import parity_of_free_rates, parity_within, strata_of
from purtensor.fairness.roles import Roles, roles_of
from purtensor.tables.coded import CodedTable, encode, is_sparse, like
from purtensor.tables.marginal import Marginals, marginal
from purtensor.tables.masses import exact_sum
from purtensor.tables.memory import require_memory
from purtensor.tables.store.table import StoredTable

_COPIES = 9
"""Arrays over all pairs that a target needs at its peak, beside two codes per attribute: products, index, keys."""


@overload
def parity(
    f: Table | StoredTable,
    *,
    response: str,
    protected: Attributes,
    given: Attributes | None = None,
    keep_rates: Literal[True] = True,
) -> Marginal: ...
@overload
def parity(
    f: Table | StoredTable, *, response: str, protected: Attributes, given: Attributes | None = None, keep_rates: bool
) -> Marginal | Linear: ...
def parity(
    f: Table | StoredTable,
    *,
    response: str,
    protected: Attributes,
    given: Attributes | None = None,
    keep_rates: bool = True,
) -> Marginal | Linear:
    """Return demographic parity as a constraint: the response is independent of the protected attributes.

    Its target is f(y) f(s) / total(f), over all pairs of a response y and a protected profile s with mass.

    Parameters
    ----------
    f
        The data, in counts or probabilities; the target is in the same units.
    response
        The name of one attribute.
    protected
        One or more other attributes.
    given
        Attributes within whose profiles t parity must hold: the target is f(y, t) f(s, t) / f(t).
    keep_rates
        Whether the rates of the response must be those of f. Otherwise they are free, and the rows are the linear
        conditions q(y, s, t) = p(s | t) q(y, t), where p is the distribution f.

    Raises
    ------
    UnknownAttributeError
        The table has no such attribute.
    InvalidOptionError
        Not one response, no protected attribute, or one that is both.
    TooLargeError
        The pairs exceed the available memory.

    Examples
    --------
    >>> import purtensor as pt
    >>> f = pt.tabulate({"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}, weights=[4, 1, 3, 2])
    >>> pt.parity(f, response="hired", protected="sex").target.to_series().to_dict()
    {('no', 'f'): 3.0, ('no', 'm'): 3.0, ('yes', 'f'): 2.0, ('yes', 'm'): 2.0}
    >>> pt.parity(f, response="hired", protected="sex", keep_rates=False)
    <parity of free rates: 4 rows>
    """
    check_flag("keep_rates", keep_rates)
    roles = roles_of(f, response, protected)
    strata = strata_of(f, roles, given)
    if isinstance(f, StoredTable):
        f = marginal(f, (roles.response, *roles.protected, *strata))
    coded = encode(f, copy=False)
    if not keep_rates:
        return parity_of_free_rates(coded, roles, strata)
    if strata:
        return parity_within(coded, roles, strata)
    return _make_parity(coded, roles, Marginals(coded, [(roles.response,), roles.protected]))


def utility(f: Table | StoredTable, *, response: str, protected: Attributes) -> Marginal:
    """Return utility as a constraint: response and unprotected attributes are related as in the data, f(y, x).

    Without unprotected attributes it is f(y). Parameters and errors as in `parity`.

    Examples
    --------
    >>> import purtensor as pt
    >>> f = pt.tabulate({"hired": ["no", "yes"], "sex": ["f", "m"], "age": ["old", "old"]})
    >>> pt.utility(f, response="hired", protected="sex").scope
    ('hired', 'age')
    """
    return pur(f, response=response, protected=protected, conditions="U")[0]


def realism(f: Table | StoredTable, *, response: str, protected: Attributes) -> Marginal:
    """Return realism as a constraint: the population is that of the data, f(s, x).

    Without unprotected attributes it is f(s). Parameters and errors as in `parity`.

    Examples
    --------
    >>> import purtensor as pt
    >>> f = pt.tabulate({"hired": ["no", "yes"], "sex": ["f", "m"], "age": ["old", "old"]})
    >>> pt.realism(f, response="hired", protected="sex").scope
    ('sex', 'age')
    """
    return pur(f, response=response, protected=protected, conditions="R")[0]


def pur(
    f: Table | StoredTable, *, response: str, protected: Attributes, conditions: str = "PUR"
) -> tuple[Marginal, ...]:
    """Return the conditions that the letters name: Parity, Utility, Realism.

    Parameters
    ----------
    f, response, protected
        As in `parity`. Of a stored table, utility and realism stay on disk as StoredMarginals.
    conditions
        One to three different letters of P, U and R, in the order of the constraints and of the steps of IPF.

    Raises
    ------
    InvalidOptionError
        Other letters, a repeated letter, or none; or incompatible attributes.
    UnknownAttributeError
        The table has no such attribute.

    Examples
    --------
    >>> import purtensor as pt
    >>> f = pt.tabulate({"hired": ["no", "yes"], "sex": ["f", "m"], "age": ["old", "old"]})
    >>> [constraint.scope for constraint in pt.pur(f, response="hired", protected="sex", conditions="PU")]
    [('hired', 'sex'), ('hired', 'age')]
    """
    if not isinstance(conditions, str) or not conditions or not set(conditions) <= set("PUR"):
        raise InvalidOptionError(f"conditions must be letters among P, U and R, such as 'PUR', got {conditions!r}")
    if len(set(conditions)) < len(conditions):
        raise InvalidOptionError(f"conditions must name each letter once, got {conditions!r}")
    roles = roles_of(f, response, protected)
    scopes = {"U": (roles.response, *roles.unprotected), "R": (*roles.protected, *roles.unprotected)}
    if isinstance(f, StoredTable):
        # parity is small; the other two may be as large as f, and are summed where they are needed
        found = [
            parity(f, response=response, protected=protected) if letter == "P" else StoredMarginal(f, scopes[letter])
            for letter in conditions
        ]
        return cast("tuple[Marginal, ...]", tuple(found))
    coded = encode(f, copy=False)
    needed = {letter: [scope] for letter, scope in scopes.items()} | {"P": [(roles.response,), roles.protected]}
    # together, since one pass over a dense table serves all of them
    marginals = Marginals(coded, [scope for letter in conditions for scope in needed[letter]])
    return tuple(
        _make_parity(coded, roles, marginals)
        if letter == "P"
        else Marginal(marginals.table(scopes[letter], {"U": "utility", "R": "realism"}[letter]))
        for letter in conditions
    )


def _make_parity(coded: CodedTable, roles: Roles, marginals: Marginals) -> Marginal:
    _, (y,), of_y = marginals.sums_over((roles.response,))
    _, s, of_s = marginals.sums_over(roles.protected)
    domain = coded.domain.select((roles.response, *roles.protected))
    pairs = len(of_y) * len(of_s)
    needed = (
        domain.size * 8 * _COPIES if not is_sparse(coded.template) else pairs * 8 * (_COPIES + 2 * len(domain.sizes))
    )
    require_memory(needed, f"parity over {pairs} pairs of a response and a protected profile")
    # all pairs, the response slowest: category order
    codes = (np.repeat(y, len(of_s)), *(np.tile(column, len(of_y)) for column in s))
    # sums over the cells of a dense table are right to the last bits
    total = exact_sum(of_y if marginals.of_cells else coded.values)
    scale = math.frexp(total)[1]  # a power of two: counts give whole products, and huge masses do not overflow
    target = np.outer(np.ldexp(of_y, -scale), of_s).reshape(-1) / math.ldexp(total, -scale)
    # the groups are those whose shares between(rate=...) is about
    return Marginal(like(coded.template, domain, codes, target, name="parity"), groups=roles.protected)
