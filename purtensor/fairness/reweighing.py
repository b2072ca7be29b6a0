"""The projection onto parity alone, in closed form."""

from __future__ import annotations

import numpy as np

from purtensor._typing import Attributes, Table
from purtensor.errors import InfeasibleError
from purtensor.fairness.roles import roles_of
from purtensor.kernels.sums import group_sums
from purtensor.tables.coded import described, encode
from purtensor.tables.exact_sum import exact_sum
from purtensor.tables.grouping import group_profiles
from purtensor.tables.marginal import marginalize


def reweigh(f: Table, *, response: str, protected: Attributes) -> Table:
    """Return f(y, s, x) f(y) f(s) / (f(y, s) total): the projection of f onto its own parity, in one pass.

    This is the reweighing of F. Kamiran and T. Calders, "Data preprocessing techniques for classification without
    discrimination", Knowledge and Information Systems 33, 2012. It equals `project(f, parity(f, ...))`, is in the
    units, layout and profiles of f, and leaves p(x | y, s) as it was.

    Raises
    ------
    InfeasibleError
        A response and a protected profile that both have mass never occur together: no reweighing gives them any.
    UnknownAttributeError
        The table has no such attribute.
    InvalidOptionError
        Not one response, no protected attribute, or one that is both.

    Examples
    --------
    >>> import purtensor as pt
    >>> from purtensor.fairness.reweighing import reweigh
    >>> f = pt.tabulate({"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}, weights=[4, 1, 3, 2])
    >>> reweigh(f, response="hired", protected="sex").values
    array([3., 3., 2., 2.])
    """
    coded = encode(f)
    roles = roles_of(coded.domain, response, protected)
    scope = (roles.response, *roles.protected)
    domain = coded.domain.select(scope)
    pair, pair_codes = group_profiles(coded.columns(scope), domain.sizes)
    of_pair = group_sums(coded.values, pair, len(pair_codes[0]))
    y_of_pair, (y,) = group_profiles(pair_codes[:1], domain.sizes[:1])
    s_of_pair, s = group_profiles(pair_codes[1:], domain.sizes[1:])
    _, _, of_y = marginalize(coded, (roles.response,))
    _, _, of_s = marginalize(coded, roles.protected)
    met = np.zeros((len(of_y), len(of_s)), dtype=bool)
    met[y_of_pair, s_of_pair] = True
    if not met.all():
        i, j = np.argwhere(~met)[0]
        raise InfeasibleError(
            f"({described(domain, [y[i], *(column[j] for column in s)])}) has no mass, but parity requires "
            f"{of_y[i] * of_s[j] / exact_sum(coded.values):g}: give it mass, for example with purtensor.regularize"
        )
    factor = (of_y[y_of_pair] / of_pair) * (of_s[s_of_pair] / exact_sum(coded.values))
    return coded.rebuild(coded.values * factor[pair], name="reweighed")
