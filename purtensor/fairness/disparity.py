"""How differently a distribution treats protected profiles, and how far a prediction is from the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, UndefinedRatioWarning, UnknownAttributeError, UnknownCategoryError
from purtensor.fairness.roles import Roles, joint_in_memory, roles_of
from purtensor.information import divergence, kl_divergence
from purtensor.tables.coded import CodedTable, dense_table, describe_profile, encode, is_sparse, sparse_table
from purtensor.tables.domain import Domain, join_some
from purtensor.tables.marginal import marginal, marginalize
from purtensor.tables.store.pairs import pair_batches
from purtensor.tables.store.table import StoredTable


def attributable_disparity(
    p: Table | StoredTable, *, response: str, protected: Attributes, reference: Mapping[str, Any]
) -> Table:
    """Return p(y | s) - p(y | s0) for each response y and protected profile s; under parity all are 0.

    Parameters
    ----------
    p
        Counts or probabilities over the response, the protected attributes, and any others; also a stored table.
    response
        The name of one attribute.
    protected
        One or more other attributes.
    reference
        The protected profile s0 that the others are compared with, one category for each protected attribute.

    Returns
    -------
    Table
        Over (response, protected) in the layout of p, including the reference profile. Responses and protected
        profiles without mass are omitted in the sparse layout and NaN in the dense layout.

    Raises
    ------
    UnknownAttributeError
        The table has no such attribute, or the attributes of `reference` are not the protected ones.
    UnknownCategoryError
        The reference profile does not exist, or has no mass.
    InvalidOptionError
        Not one response, no protected attribute, or one that is both; `reference` is not a mapping.

    Examples
    --------
    >>> import purtensor as pt
    >>> p = pt.tabulate({"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}, weights=[3, 1, 2, 2])
    >>> found = pt.attributable_disparity(p, response="hired", protected="sex", reference={"sex": "m"})
    >>> float(found.sel(hired="yes", sex="f").item())
    -0.25
    """
    return _compared(
        encode(joint_in_memory(p, response, protected)),
        response,
        protected,
        reference,
        np.subtract,
        "attributable disparity",
    )


def disparity_ratio(
    p: Table | StoredTable, *, response: str, protected: Attributes, reference: Mapping[str, Any]
) -> Table:
    """Return p(y | s) / p(y | s0) for each response y and protected profile s; under parity all are 1.

    Parameters, result and errors as in `attributable_disparity`. If p(y | s0) is 0 the ratio is NaN.

    Warns
    -----
    UndefinedRatioWarning
        p(y | s0) is 0 for a response.

    Examples
    --------
    >>> import purtensor as pt
    >>> p = pt.tabulate({"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}, weights=[3, 1, 2, 2])
    >>> found = pt.disparity_ratio(p, response="hired", protected="sex", reference={"sex": "m"})
    >>> float(found.sel(hired="yes", sex="f").item())
    0.5
    """
    return _compared(
        encode(joint_in_memory(p, response, protected)), response, protected, reference, _ratio, "disparity ratio"
    )


def utility_error(
    test: Table | StoredTable, predicted: Table | StoredTable, *, response: str, protected: Attributes
) -> float:
    """Return the divergence of the (response, unprotected) marginals of data and prediction, in nats.

    It is D(test(y, x) || predicted(y, x)), each normalised to total 1. It is infinite if the prediction has no mass on
    a pair (y, x) of the data. Without unprotected attributes it is the divergence of the response marginals.

    Raises
    ------
    UnknownAttributeError, UnknownCategoryError
        A table has no such attribute, or the tables do not agree on attributes or categories.
    InvalidOptionError
        Not one response, no protected attribute, or one that is both.

    Examples
    --------
    >>> import purtensor as pt
    >>> test = pt.tabulate({"hired": ["no", "yes"], "sex": ["f", "m"], "age": ["old", "old"]}, weights=[1, 3])
    >>> predicted = pt.predict(test, test, response="hired")
    >>> pt.utility_error(test, predicted, response="hired", protected="sex")
    0.0
    """
    scopes = []
    for table in (test, predicted):
        domain = table.domain if isinstance(table, StoredTable) else encode(table).domain
        roles = roles_of(domain, response, protected)
        scopes.append((roles.response, *roles.unprotected))
    if isinstance(test, StoredTable) or isinstance(predicted, StoredTable):
        for (scope, other), name in ((scopes, "predicted"), (scopes[::-1], "test")):
            lacking = next((attribute for attribute in scope if attribute not in other), None)
            if lacking is not None:
                raise UnknownAttributeError.among(lacking, other, name)
        return divergence(pair_batches(test, predicted, scopes[0]))
    return kl_divergence(marginal(test, scopes[0]), marginal(predicted, scopes[1]))


def _compared(
    coded: CodedTable,
    response: str,
    protected: Attributes,
    reference: Mapping[str, Any],
    compare: Callable[[FloatArray, FloatArray], FloatArray],
    name: str,
) -> Table:
    """Return the conditionals p(y | s), each compared with that of the reference profile."""
    roles = roles_of(coded.domain, response, protected)
    chosen = reference_codes(coded.domain.select(roles.protected), reference)
    _, (y,), _ = marginalize(coded, (roles.response,))
    domain, s, of_s = marginalize(coded, roles.protected)
    at = np.flatnonzero(np.all([column == code for column, code in zip(s, chosen, strict=True)], axis=0))
    if not len(at):
        raise UnknownCategoryError(
            f"the reference profile ({describe_profile(domain, chosen)}) has no mass in this table; choose another one"
        )
    conditional = _conditionals(coded, roles, y, s, of_s)
    compared = compare(conditional, conditional[:, at])
    return _laid_out(coded, roles, y, s, compared, name)


def _conditionals(
    coded: CodedTable, roles: Roles, y: IntArray, s: tuple[IntArray, ...], of_s: FloatArray
) -> FloatArray:
    """Return p(y | s), shape (responses, protected profiles)."""
    _, (pair_y, *pair_s), masses = marginalize(coded, (roles.response, *roles.protected))
    where = {profile: i for i, profile in enumerate(zip(*(column.tolist() for column in s), strict=True))}
    columns = [where[profile] for profile in zip(*(column.tolist() for column in pair_s), strict=True)]
    table = np.zeros((len(y), len(of_s)))
    # marginals are in category order, so that y ascends
    table[np.searchsorted(y, pair_y), columns] = masses
    return table / of_s


def _ratio(conditional: FloatArray, reference: FloatArray) -> FloatArray:
    undefined = reference == 0
    if undefined.any():
        # stacklevel 4: the line that called disparity_ratio
        warnings.warn(
            f"p(y | s0) is 0 for {int(undefined.sum())} of {len(reference)} responses, so their disparity ratio is "
            "NaN; "
            "attributable_disparity is defined there",
            UndefinedRatioWarning,
            stacklevel=4,
        )
    return np.asarray(conditional / np.where(undefined, np.nan, reference))


def reference_codes(domain: Domain, reference: Mapping[str, Any]) -> list[int]:
    """Return the codes of a profile that is given as a mapping from attributes to categories."""
    if not isinstance(reference, Mapping):
        raise InvalidOptionError(
            "reference must be a mapping from protected attributes to categories, such as {'sex': 'male'}, "
            f"got {reference!r}"
        )
    for name in reference:
        if name not in domain.attributes:
            raise UnknownAttributeError.among(name, domain.attributes, "protected")
    missing = [name for name in domain.attributes if name not in reference]
    if missing:
        raise UnknownAttributeError(
            f"reference has no category for {join_some(missing)}; it must have one for each protected attribute"
        )
    return [domain.code(name, reference[name]) for name in domain.attributes]


def _laid_out(
    coded: CodedTable, roles: Roles, y: IntArray, s: tuple[IntArray, ...], compared: FloatArray, name: str
) -> Table:
    """Return the compared conditionals as a table over the categories that occur."""
    full = coded.domain.select((roles.response, *roles.protected))
    categories, codes = [], []
    for index, column in zip(full.categories, (np.repeat(y, len(s[0])), *(np.tile(c, len(y)) for c in s)), strict=True):
        present, local = np.unique(column, return_inverse=True)
        categories.append(index[present])
        codes.append(local)
    domain = Domain(full.attributes, tuple(categories))
    values: npt.NDArray[np.float64] = compared.reshape(-1)
    if is_sparse(coded.template):
        return sparse_table(domain, codes, values, name=name)
    # without mass there is no conditional, not one of 0
    dense = np.full(domain.sizes, np.nan)
    dense[tuple(codes)] = values
    return dense_table(domain, dense, name=name)
