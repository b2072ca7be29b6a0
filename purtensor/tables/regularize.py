"""From counts to reference distributions: as observed, with pseudo-counts, uniform."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from purtensor._options import is_number
from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.tables.coded import CodedTable, encode, is_sparse, like
from purtensor.tables.domain import Domain, as_attributes
from purtensor.tables.grouping import group_profiles
from purtensor.tables.masses import are_probabilities, exact_sum, is_one
from purtensor.tables.memory import require_memory
from purtensor.tables.translate import category_map, find_profiles, translate_codes


def empirical(counts: Table) -> Table:
    """Return the observed distribution: counts divided by their total.

    Raises
    ------
    InvalidTableError
        The counts are not table: negative, not finite, or without mass.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.empirical(pt.tabulate({"sex": ["f", "m", "m", "m"]})).values
    array([0.25, 0.75])
    """
    coded = encode(counts)
    return coded.rebuild(coded.values / exact_sum(coded.values), name="probability")


def uniform(table: Table, *, support: str | Table = "observed") -> Table:
    """Return the uniform distribution on the profiles that may occur: 1 / M on each of M.

    A profile outside of the support is a structural zero: no projection gives it mass. To fit a log-linear model to
    counts in which a zero is only a combination that the sample lacks, take `support="product"`.

    Parameters
    ----------
    table
        Counts or probabilities.
    support
        "observed": the profiles with mass in the table; "product": all combinations of its categories with mass; or a
        table: exactly its positive profiles.

    Raises
    ------
    InvalidTableError
        `table` is not a table: negative, not finite, or without mass; or it has mass outside of the support that is
        declared.
    InvalidOptionError
        Another word for `support`.
    TooLargeError
        The support is beyond the memory that is available; nothing was allocated.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.uniform(pt.tabulate({"sex": ["f", "m", "m", "m"]})).values
    array([0.5, 0.5])

    Independence in a table with a zero that is the sample's:

    >>> counts = pt.as_table([[12, 8], [5, 0]], {"a": ["x", "y"], "b": ["u", "v"]})
    >>> start = pt.uniform(counts, support="product")
    >>> pt.project(start, pt.marginals_of(counts, "a | b")).table.values.round(6).tolist()
    [[13.6, 6.4], [3.4, 1.6]]
    """
    coded = encode(table)
    if isinstance(support, str) and support == "observed":
        profiles = len(coded.values)
        return coded.rebuild(np.full(profiles, 1.0 / profiles), name="probability")
    if isinstance(support, str):
        domain, codes, observed = cross_support(coded, (), support)
    else:
        domain, codes, observed = take_support(coded, support)
    if not is_sparse(table):
        require_memory(8 * domain.size, f"a dense table of {domain.size} profiles")
    values = np.full(len(observed), 1.0 / len(observed))
    return like(table, domain, codes, values, name="probability")


def regularize(
    counts: Table,
    strength: float = 1e-4,
    *,
    response: Attributes,
    support: str | Table = "observed",
    total: float | None = None,
) -> Table:
    """Return the distribution of counts with the pseudo-count `strength` on every profile that may occur.

    With N the total of the counts and M the number of supported profiles it is, on each of them,
    (count / N + strength / N) / (1 + M strength / N): equation 1 of arXiv 2309.17347.

    The result keeps in its `attrs` the `strength`, the number of supported `profiles` M, the `total` N, the
    `washed_out_share` M strength / N, and under `left_out` the categories that have no supported profile.

    Parameters
    ----------
    counts
        Counts or sums of weights; probabilities only together with `total`.
    strength
        The pseudo-count lambda, 0 or more.
    response
        The attribute (or attributes) that is predicted.
    support
        "observed": all response categories, for each profile of the other attributes that was observed;
        "product": all combinations of categories; or a table: exactly its positive profiles, which is how
        structural zeros are declared. Without a table, categories that were never observed are left out.
    total
        The sample size N, where probabilities are given in place of counts.

    Raises
    ------
    InvalidTableError
        Probabilities without `total`, or counts outside of the support that is declared.
    InvalidOptionError
        A strength that is negative or no number, another word for `support`, a `total` that the table contradicts.
    UnknownAttributeError
        No such response.
    TooLargeError
        The support is beyond the memory that is available; nothing was allocated.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"income": ["low", "high", "high", "high"], "sex": ["f", "m", "m", "m"]})
    >>> f = pt.regularize(counts, 1, response="income")
    >>> f.to_series().to_dict()
    {('high', 'f'): 0.125, ('high', 'm'): 0.5, ('low', 'f'): 0.25, ('low', 'm'): 0.125}
    >>> f.attrs["profiles"]
    4
    """
    if not (is_number(strength) and 0 <= strength < math.inf):
        raise InvalidOptionError(f"strength must be a finite pseudo-count of at least 0, got {strength!r}")
    coded = encode(counts)
    responses = as_attributes(response, coded.domain)
    if not responses:
        raise InvalidOptionError("response must name the attribute to predict, got none")
    size, mass = _sample_size(coded, total)
    if isinstance(support, str):
        domain, codes, observed = cross_support(coded, responses, support)
    else:
        domain, codes, observed = take_support(coded, support)
    profiles = len(observed)
    strength = float(strength)
    share = profiles * (strength / size)
    if not math.isfinite(share):
        raise InvalidOptionError(
            f"strength={strength:g} on each of {profiles} profiles exceeds the range of float64 relative to a total "
            f"of {size:g}; "
            "use a smaller strength"
        )
    # arXiv 2309.17347, equation 1; the mass is N, or 1 where probabilities came with their N
    values = (observed / mass + strength / size) / (1.0 + share)
    attrs = {
        "strength": strength,
        "profiles": profiles,
        "total": size,
        "washed_out_share": share,
        "left_out": _find_unused(domain, codes),
    }
    if not is_sparse(counts):
        require_memory(8 * domain.size, f"a dense table of {domain.size} profiles")
    return like(counts, domain, codes, values, name="probability", attrs=attrs)


def _sample_size(coded: CodedTable, total: float | None) -> tuple[float, float]:
    """Return the sample size N, and what the values are to be divided by."""
    mass = exact_sum(coded.values)
    if total is None:
        if are_probabilities(coded.values, mass):
            raise InvalidTableError(
                f"the table has total {mass:.6g} and fractional entries, so it contains probabilities: "
                "give counts, or total=N"
            )
        return mass, mass
    if not (is_number(total) and 0 < total < math.inf):
        raise InvalidOptionError(f"total must be a positive sample size, got {total!r}")
    total = float(total)
    # 1e-9: sums of many weights differ in their last digits
    if not is_one(mass) and abs(mass - total) > 1e-9 * total:
        raise InvalidOptionError(f"the table has total {mass:g}, which is neither 1 nor total={total:g}")
    return total, mass


def _find_unused(domain: Domain, codes: Sequence[IntArray]) -> list[str]:
    """Return the categories without a profile, as text such as 'age=old'."""
    lost = []
    for name, categories, column in zip(domain.attributes, domain.categories, codes, strict=True):
        reached = np.zeros(len(categories), dtype=bool)
        reached[column] = True
        lost += [f"{name}={categories[code]}" for code in np.flatnonzero(~reached).tolist()]
    return lost


def cross_support(
    coded: CodedTable, responses: tuple[str, ...], support: str
) -> tuple[Domain, tuple[IntArray, ...], FloatArray]:
    """Return the domain, codes and values of a table on all combinations of observed categories with profiles.

    Crossed are the categories of the responses ("observed") or of every attribute ("product") with the observed
    profiles of the other attributes. Profiles stand in category order; those that were not observed have value 0.

    Raises
    ------
    TooLargeError
        The support is beyond the memory that is available; nothing was allocated.
    """
    names = coded.domain.attributes
    if support not in ("observed", "product"):
        raise InvalidOptionError(f"support must be 'observed', 'product' or a table, got {support!r}")
    crossed = responses if support == "observed" else names
    present = [np.unique(column) for column in coded.columns(crossed)]
    kept = tuple(name for name in names if name not in crossed)
    group: IntArray = np.zeros(len(coded.values), dtype=np.int64)
    kept_codes: tuple[IntArray, ...] = ()
    if kept:
        group, kept_codes = group_profiles(coded.columns(kept), coded.domain.select(kept).sizes)
    count = len(kept_codes[0]) if kept_codes else 1
    profiles = math.prod(map(len, present)) * count
    require_memory(
        profiles * (48 + 2 * sum(code.itemsize for code in coded.codes)),
        f"the support {support!r} of {profiles} profiles",
        "give a table of the profiles that can occur" if support == "observed" else "use support='observed'",
    )
    columns: dict[str, IntArray] = {}
    # the number of each observed profile in the product, in which the kept attributes vary fastest
    place, repeats = group, profiles
    for name, codes, column in zip(crossed, present, coded.columns(crossed), strict=True):
        repeats //= len(codes)
        columns[name] = np.tile(np.repeat(codes, repeats), profiles // (len(codes) * repeats))
        place = place + np.searchsorted(codes, column) * repeats
    for name, codes in zip(kept, kept_codes, strict=True):
        columns[name] = np.tile(codes, profiles // count)
    # all crossed profiles differ, so that their group is their rank in category order
    order, sorted_codes = group_profiles([columns[name] for name in names], coded.domain.sizes)
    values = np.zeros(profiles)
    values[order[place]] = coded.values
    return coded.domain, sorted_codes, values


def take_support(coded: CodedTable, support: Any) -> tuple[Domain, tuple[IntArray, ...], FloatArray]:
    """Return the domain, codes and values of a table on the positive profiles of `support`, in category order.

    Categories that only the support has mass in join the domain, after the others.

    Raises
    ------
    InvalidTableError
        The table has mass outside of the support, or the support is over other attributes.
    """
    declared = encode(support)
    extra = [name for name in declared.domain.attributes if name not in coded.domain.attributes]
    if extra:
        raise InvalidTableError(f"the support has the attribute {extra[0]!r}, which the counts do not have")
    domain = _with_categories_of(coded.domain, declared)
    onto = translate_codes(declared, domain)
    # declared profiles are distinct, so that the group of each is its place in category order
    order, codes = group_profiles(onto, domain.sizes)
    ours = find_profiles(onto, coded.codes)
    outside = np.flatnonzero(ours < 0)
    if len(outside):
        row = int(outside[0])
        raise InvalidTableError(
            f"profile ({coded.describe(row)}) has {coded.values[row]:g}, but the support does not have "
            f"it ({len(outside)} such profiles in all); an observed profile cannot be a structural zero: "
            "correct the counts or the support"
        )
    values = np.zeros(len(order))
    values[order[ours]] = coded.values
    return domain, codes, values


def _with_categories_of(domain: Domain, declared: CodedTable) -> Domain:
    """Return the domain with the categories added that only the declared support has mass in."""
    categories = []
    for name, known in zip(domain.attributes, domain.categories, strict=True):
        theirs = declared.domain.categories[declared.domain.position(name)]
        used = np.unique(declared.codes[declared.domain.position(name)])
        new = used[category_map(theirs, known)[used] < 0]
        categories.append(pd.Index([*known.tolist(), *theirs[new].tolist()]) if len(new) else known)
    return Domain(domain.attributes, tuple(categories))
