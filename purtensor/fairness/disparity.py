"""How differently a distribution treats protected profiles, and how far a prediction is from the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.errors import UndefinedRatioWarning, UnknownAttributeError
from purtensor.fairness.response_table import ResponseTable
from purtensor.fairness.roles import roles_of
from purtensor.information import divergence, kl_divergence
from purtensor.tables.coded import dense_table, is_sparse, sparse_table
from purtensor.tables.domain import Domain
from purtensor.tables.marginal import marginal
from purtensor.tables.masses import exact_sum
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
    return _compare(p, response, protected, reference, np.subtract, "attributable disparity")


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
    return _compare(p, response, protected, reference, _ratio, "disparity ratio")


def parity_violation(p: Table | StoredTable, *, response: str, protected: Attributes) -> float:
    """Return the sum of |p(y, s) - p(y) p(s)| over all y and s, of the table divided by its total: 0 means parity.

    Raises
    ------
    UnknownAttributeError
        The table has no such attribute.
    InvalidOptionError
        Not one response, no protected attribute, or one that is both.

    Examples
    --------
    >>> import purtensor as pt
    >>> from purtensor.fairness.disparity import parity_violation
    >>> p = pt.tabulate({"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}, weights=[3, 1, 2, 2])
    >>> parity_violation(p, response="hired", protected="sex")
    0.25
    """
    roles = roles_of(p, response, protected)
    masses = ResponseTable.of(p, roles.response, roles.protected).masses
    joint = masses / exact_sum(masses.reshape(-1))
    return exact_sum(np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).reshape(-1))


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
    scopes = [(response, *roles_of(table, response, protected).unprotected) for table in (test, predicted)]
    if isinstance(test, StoredTable) or isinstance(predicted, StoredTable):
        for (scope, other), name in ((scopes, "predicted"), (scopes[::-1], "test")):
            lacking = next((attribute for attribute in scope if attribute not in other), None)
            if lacking is not None:
                raise UnknownAttributeError.among(lacking, other, name)
        return divergence(pair_batches(test, predicted, scopes[0]))
    return kl_divergence(marginal(test, scopes[0]), marginal(predicted, scopes[1]))


def _compare(
    p: Table | StoredTable,
    response: str,
    protected: Attributes,
    reference: Mapping[str, Any],
    compare: Callable[[FloatArray, FloatArray], FloatArray],
    name: str,
) -> Table:
    """Return the conditionals p(y | s), each compared with that of the reference profile."""
    roles = roles_of(p, response, protected)
    groups = ResponseTable.of(p, roles.response, roles.protected)
    base = groups.row_of(reference)
    # responses without mass have no conditional to compare
    y = np.flatnonzero(groups.masses.any(axis=0))
    rates = groups.rates[:, y]
    compared = compare(rates, rates[base])
    # in the layout of p: one that is on disk has a sparse marginal
    return _lay_out(groups, y, compared, name, sparse=isinstance(p, StoredTable) or is_sparse(p))


def _ratio(rates: FloatArray, reference: FloatArray) -> FloatArray:
    undefined = reference == 0
    if undefined.any():
        # stacklevel 4: the line that called disparity_ratio
        warnings.warn(
            f"p(y | s0) is 0 for {int(undefined.sum())} of {len(reference)} responses, so their disparity ratio is "
            "NaN; attributable_disparity is defined there",
            UndefinedRatioWarning,
            stacklevel=4,
        )
    return np.asarray(rates / np.where(undefined, np.nan, reference))


def _lay_out(groups: ResponseTable, y: IntArray, compared: FloatArray, name: str, *, sparse: bool) -> Table:
    """Return compared conditionals, shape (groups, responses), as a table over the categories that occur."""
    pairs = (np.repeat(y, len(compared)), *(np.tile(code, len(y)) for code in groups.profiles))
    categories, codes = [], []
    # the domain of the result has the categories that occur, in their order
    for index, column in zip(groups.domain.categories, pairs, strict=True):
        present, local = np.unique(column, return_inverse=True)
        categories.append(index[present])
        codes.append(local)
    domain = Domain(groups.domain.attributes, tuple(categories))
    values = compared.T.reshape(-1)
    if sparse:
        return sparse_table(domain, codes, values, name=name)
    # without mass there is no conditional, not one of 0
    dense = np.full(domain.sizes, np.nan)
    dense[tuple(codes)] = values
    return dense_table(domain, dense, name=name)
