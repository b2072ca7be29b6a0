"""Standard errors of a projection and of what is computed from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from purtensor._options import is_count
from purtensor._printing import Shown
from purtensor._typing import Attributes, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError, TooLargeError, UnknownCategoryError
from purtensor.inference.influence import Influence, find_dependences, share_within
from purtensor.projection.evidence import SolverEvidence
from purtensor.projection.log_reference import require_masses
from purtensor.projection.result import Projection, require_projection
from purtensor.projection.solved import in_its_engine
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.problem import LabelledProblem
from purtensor.tables.coded import CodedTable, dense_table, domain_of, encode, is_sparse, sparse_table
from purtensor.tables.domain import Domain, as_attributes, describe_profile
from purtensor.tables.grouping import group_profiles
from purtensor.tables.layouts import to_sparse
from purtensor.tables.memory import available_memory
from purtensor.tables.translate import find_profiles, translate_codes, values_at

LARGEST_TABLE = 20_000
"""Beyond so many profiles the errors of all of them, one solve each, are refused."""

_MOST_SHOWN = 100
"""Profiles: more are not shown in a notebook, each would cost a solve."""


@dataclass(frozen=True, eq=False, repr=False)
class StandardErrors(Shown):
    """Standard errors under multinomial sampling of the data; see `standard_errors`.

    Attributes
    ----------
    size
        The number of individuals that the data are taken to be a sample of.
    targets
        How each target depends on the data: "marginal", "parity" or "fixed".
    reference_depends
        Whether the reference is the data.
    """

    size: int
    targets: tuple[str, ...]
    reference_depends: bool
    result: Projection = field(repr=False)
    labelled: LabelledProblem = field(repr=False)
    coded: CodedTable = field(repr=False)
    influence: Influence = field(repr=False)

    def summary(self) -> dict[str, str]:
        """Return a description of the errors as named texts."""
        scopes = [" x ".join(constraint.scope) for constraint in self.result.constraints]
        return {
            "sample": f"{self.size:,} individuals",
            "targets": ", ".join(f"{scope}: {kind}" for scope, kind in zip(scopes, self.targets, strict=True)),
            "reference": "is the data" if self.reference_depends else "is known",
            "profiles": f"{len(self.influence.q):,}",
        }

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return the masses of the projection with their standard errors, where they are few."""
        if len(self.influence.q) > _MOST_SHOWN:
            return {}
        mass, error = (to_sparse(table).to_series() for table in (self.result.table, self.table))
        return {"": pd.DataFrame({"mass": mass, "standard error": error})}

    @cached_property
    def table(self) -> Table:
        """The standard error of the mass of each profile, in the units and the layout of `result.table`.

        It costs one solve a profile.

        Raises
        ------
        TooLargeError
            More than 20,000 profiles; ask for single numbers with `of`.
        """
        profiles = len(self.influence.q)
        if profiles > LARGEST_TABLE:
            raise TooLargeError(
                f"standard errors of {profiles} profiles need as many solves, at most {LARGEST_TABLE} are allowed; "
                "compute the statistics that you need with of(gradient)",
                8 * profiles**2,
                available_memory(),
            )
        errors = np.zeros(profiles)
        gradient = np.zeros(profiles)
        for i in range(profiles):
            gradient[i] = 1.0
            # the mass of one profile is h(q) = q_i, with the gradient 1 there
            errors[i] = self._error(gradient)
            gradient[i] = 0.0
        # q has the total 1, the table that of the targets
        return self.labelled.table(errors * self.labelled.total, name="standard_error")

    def of(self, gradient: Table) -> float:
        """Return the standard error of a number h(q), given its derivatives with respect to the profiles of q.

        `gradient` is a table over the attributes of q, of any signs, of derivatives with respect to probabilities
        (total 1); profiles that it does not list have derivative 0. For a linear h they are its coefficients.
        """
        return self._error(self._align(gradient))

    def covariance(self, one: Table, other: Table) -> float:
        """Return the covariance of two numbers, given their gradients as in `of`."""
        first, second = (self.influence.of(self._align(gradient)) for gradient in (one, other))
        return self.influence.covariance(first, second, self.size)

    def attributable_disparity(self, *, response: str, protected: Attributes, reference: Mapping[str, Any]) -> Table:
        """Return the standard error of q(y | s) - q(y | s0) for each response and protected profile."""
        return self._disparity(response, protected, reference, ratio=False)

    def disparity_ratio(self, *, response: str, protected: Attributes, reference: Mapping[str, Any]) -> Table:
        """Return the standard error of q(y | s) / q(y | s0) for each response and protected profile."""
        return self._disparity(response, protected, reference, ratio=True)

    def _error(self, gradient: FloatArray) -> float:
        derivative = self.influence.of(gradient)
        return float(np.sqrt(max(0.0, self.influence.covariance(derivative, derivative, self.size))))

    def _disparity(self, response: str, protected: Attributes, reference: Mapping[str, Any], *, ratio: bool) -> Table:
        coded = self.coded
        names = as_attributes(protected, coded.domain)
        if not isinstance(response, str) or response in names or not names:
            raise InvalidOptionError(
                f"response must be one attribute and protected must be others, got {response!r} and {names}"
            )
        if not isinstance(reference, Mapping) or set(reference) != set(names):
            raise InvalidOptionError(
                f"reference must name a category for each of {', '.join(names)}, got {reference!r}"
            )
        y = coded.columns(as_attributes(response, coded.domain))[0][self.labelled.profiles]
        columns = [column[self.labelled.profiles] for column in coded.columns(names)]
        s, of_s = group_profiles(columns, coded.domain.select(names).sizes)
        chosen = [coded.domain.code(name, reference[name]) for name in names]
        # -1 where the reference group has no profile in the projection
        base = find_profiles(of_s, [np.array([code]) for code in chosen])[0]
        if base < 0:
            profile = describe_profile(coded.domain.select(names), chosen)
            raise UnknownCategoryError(f"the reference profile ({profile}) has no mass in the projection")
        responses = np.unique(y)
        values = [
            self._disparity_error(y == one, s, group, int(base), ratio)
            for one in responses
            for group in range(len(of_s[0]))
        ]
        codes = [np.repeat(responses, len(of_s[0])), *(np.tile(code, len(responses)) for code in of_s)]
        full = coded.domain.select((response, *names))
        return _over_present_categories(self.result.table, full, codes, np.array(values))

    def _disparity_error(self, is_y: Any, s: IntArray, group: int, base: int, ratio: bool) -> float:
        # the difference and the ratio of a group with itself are constants
        if group == base:
            return 0.0
        share, d_share = share_within(self.influence.q, is_y, s == group)
        other, d_other = share_within(self.influence.q, is_y, s == base)
        if not ratio:
            return self._error(d_share - d_other)
        # the quotient rule; without responses in the reference group there is no ratio
        return self._error(d_share / other - share * d_other / other**2) if other > 0 else float("nan")

    def _align(self, gradient: Table) -> FloatArray:
        """Return a table of derivatives as an array over the profiles of q."""
        domain = domain_of(gradient)
        own = self.coded
        if set(domain.attributes) != set(own.domain.attributes):
            raise InvalidTableError(
                f"the gradient is over ({', '.join(domain.attributes)}), but the projection is over "
                f"({', '.join(own.domain.attributes)})"
            )
        if not np.isfinite(np.asarray(gradient.values, dtype=np.float64)).all():
            raise InvalidTableError("the gradient must be finite")
        # profiles off the support of q stay empty whatever the data: their derivatives do not count
        return values_at(gradient, own.domain, [code[self.labelled.profiles] for code in own.codes])


@in_its_engine
def standard_errors(
    result: Projection, *, size: int, data: Table | None = None, targets: Sequence[str] | None = None
) -> StandardErrors:
    """Return the standard errors of a projection due to sampling of the data.

    The data f are treated as a multinomial sample of `size` individuals from a population distributed as f. The
    reference (if it is the data) and the targets are functions of f, and so is the projection; its variance is
    computed to first order, by the implicit function theorem, on the fixed support (notes/standard_errors.md).
    Pseudo-counts are treated as part of f.

    Parameters
    ----------
    result
        A result of `project`.
    size
        The number of individuals in the data, the total N of the counts.
    data
        The table from which the targets were computed; the reference when None. A reference that is not the data, such
        as the uniform one, is treated as known.
    targets
        For each constraint "marginal" (of the data), "parity" (product of the data's marginals over one attribute
        and over the others), or "fixed" (known without error). When None it is determined by comparison with the data.

    Returns
    -------
    StandardErrors
        With `.table`, `.disparity_ratio(...)`, `.attributable_disparity(...)`, `.of(gradient)`, `.covariance(...)`.

    Raises
    ------
    InvalidOptionError
        An invalid size, a result that has not converged or was loaded from a file, or a target that is not the stated
        function of the data.
    UnknownAttributeError
        The data lack an attribute of a constraint.

    Examples
    --------
    >>> import purtensor as pt
    >>> people = {"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}
    >>> f = pt.empirical(pt.tabulate(people, weights=[40, 10, 30, 20]))
    >>> fair = pt.project(f, pt.parity(f, response="hired", protected="sex"))
    >>> errors = pt.standard_errors(fair, size=100)
    >>> errors.targets, errors.table.values.round(4).tolist()
    (('parity',), [0.0458, 0.03, 0.0245, 0.0374])
    """
    require_projection(result)
    if not (is_count(size) and size >= 1):
        raise InvalidOptionError(f"size must be the number of individuals, 1 or more, got {size!r}")
    if not result.converged:
        raise InvalidOptionError(
            f"the projection has not converged ({result.termination.value}), so it has no derivative"
        )
    if not isinstance(result.evidence, SolverEvidence):
        raise InvalidOptionError(
            "the projection was loaded from a file, without the arrays of the solver; project again"
        )
    require_masses(result, "standard_errors")
    labelled = result.evidence.labelled
    sample = encode(result.reference if data is None else data)
    # counts or probabilities: the scale of the data does not matter, N does
    f = sample.values / sample.values.sum()
    masses = result.evidence.run.iterate.masses
    q = masses / masses.sum()
    coded = encode(result.reference)
    place = _place_in(labelled, coded, sample, f)
    system = labelled.arrays.system
    codes = [translate_codes(sample, coded.domain.select(scope)) for scope in system.scopes]
    names = [str(constraint.target.name) for constraint in labelled.constraints]
    kinds = find_dependences(labelled.arrays, codes, f, names, targets)
    # only the factors are of use: right-hand sides come with each statistic
    _, factored = hessian_of(labelled.arrays).factor_and_solve(q, np.zeros(system.rows))
    influence = Influence(labelled.arrays, factored, q, f, place, kinds)
    depends = tuple(kind.kind for kind in kinds)
    return StandardErrors(int(size), depends, place is not None, result, labelled, coded, influence)


def _place_in(labelled: LabelledProblem, coded: CodedTable, sample: CodedTable, f: FloatArray) -> IntArray | None:
    """Return where among the data's profiles each profile of q stands; None where the reference is not the data."""
    if len(sample.values) != len(coded.values) or set(sample.domain.attributes) != set(coded.domain.attributes):
        return None
    place = find_profiles(translate_codes(sample, coded.domain), coded.codes)
    # the same masses on the same profiles make it the data; 1e-9 allows for rounding by the scale
    if (place < 0).any() or not np.allclose(f[place], coded.values / coded.values.sum(), rtol=1e-9, atol=0):
        return None
    return np.asarray(place[labelled.profiles])


def _over_present_categories(template: Table, full: Domain, codes: Sequence[IntArray], values: FloatArray) -> Table:
    """Return values as a table over the categories that occur; profiles that do not occur are NaN where dense."""
    present, local = zip(*(np.unique(column, return_inverse=True) for column in codes), strict=True)
    categories = tuple(index[kept] for index, kept in zip(full.categories, present, strict=True))
    domain = Domain(full.attributes, categories)
    if is_sparse(template):
        return sparse_table(domain, local, values, name="standard_error")
    dense = np.full(domain.sizes, np.nan)
    dense[tuple(local)] = values
    return dense_table(domain, dense, name="standard_error")
