"""The coefficients of a constraint set: the matrix C with labels, its rank, and its rows that matter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.constraints.decomposable import Clique, decomposable
from purtensor.constraints.marginals import Constraints, as_constraints
from purtensor.constraints.rank.independence import Independence, independent_rows
from purtensor.constraints.rank.redundancy import RedundantRow, redundant
from purtensor.constraints.system import System, align, columns_of, reduce_system
from purtensor.kernels.engine import engine_for
from purtensor.tables.coded import encode
from purtensor.tables.domain import PROFILE, index_of_codes, join_some
from purtensor.tables.memory import readable, require_memory


@dataclass(frozen=True, eq=False, repr=False)  # no slots: what is computed on demand lives in the instance's dict
class Coefficients:
    """C p = b in labels: one column per profile of the support, one row per profile of each constrained marginal.

    The matrix, the rank and derived quantities are computed at the first access and cached.

    Attributes
    ----------
    system
        The same in integer codes.
    codes
        For each attribute of the reference the category code of every profile.
    """

    system: System
    codes: tuple[IntArray, ...]

    @property
    def targets(self) -> FloatArray:
        """Shape (D,): what the rows must sum to, in the units of the targets."""
        return self.system.targets

    @property
    def shape(self) -> tuple[int, int]:
        """D rows, M profiles."""
        return self.system.rows, self.system.profiles

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """C, shape (D, M), entries 0.0 and 1.0.

        Raises
        ------
        TooLargeError
            Its bytes are not there; `system.index` holds the same in much less.
        """
        # twice: the matrix by columns stays until that by rows is made
        require_memory(2 * self.nbytes, "the matrix of these coefficients")
        return columns_of(self.system).tocsr()

    @property
    def nbytes(self) -> int:
        """The bytes that the matrix takes, or would."""
        rows, profiles = self.shape
        ones = len(self.system.scopes) * profiles
        width = 4 if ones < 2**31 and rows < 2**31 else 8
        return ones * (8 + width) + (rows + 1) * width

    @cached_property
    def rows(self) -> pd.MultiIndex:
        """Labels of the rows: the number of the constraint, then a level an attribute, missing outside its scope."""
        system = self.system
        names = [name for name in system.domain.attributes if any(name in scope for scope in system.scopes)]
        sizes = np.diff(system.offsets)
        codes: list[Any] = [np.repeat(np.arange(len(sizes)), sizes)]
        for name in names:
            column = np.full(system.rows, -1, dtype=np.int64)
            for k, scope in enumerate(system.scopes):
                if name in scope:
                    column[system.block(k)] = system.row_codes[k][scope.index(name)]
            codes.append(column)
        # as objects: beside missing labels pandas would turn whole numbers into floats
        categories = [index.astype(object) for index in system.domain.select(names).categories]
        levels: list[Any] = [pd.RangeIndex(len(sizes)), *categories]
        return pd.MultiIndex(levels=levels, codes=codes, names=["constraint", *names], verify_integrity=False)

    @cached_property
    def profiles(self) -> pd.MultiIndex:
        """Labels of the columns: one level an attribute, as in the index of a sparse table."""
        return index_of_codes(self.system.domain, self.codes)

    @cached_property
    def independence(self) -> Independence:
        """The exact rank, rows that reach it, and how it was found."""
        with engine_for(self.system.index.size):
            return independent_rows(self.system)

    @property
    def rank(self) -> int:
        """The rank of C over the rationals, exact."""
        return self.independence.rank

    @property
    def independent_rows(self) -> IntArray:
        """As many row numbers as the rank, ascending, linearly independent; `rows[independent_rows]` labels them."""
        return self.independence.rows

    @cached_property
    def redundant_rows(self) -> tuple[RedundantRow, ...]:
        """All other rows, each with the whole-number combination of rows that implies it.

        What a combination holds is independent or redundant for reasons that come earlier.
        """
        return redundant(self.system)

    @property
    def decomposition(self) -> tuple[Clique, ...] | None:
        """The scopes in line, each with its separator, where they are decomposable; else None."""
        return decomposable(self.system.scopes)

    def reduce(self) -> Coefficients:
        """Return the coefficients without zero targets: their profiles must be empty, so columns and rows go.

        Rows that lose all their profiles although their target is positive stay: they make the problem infeasible.
        """
        reduction = reduce_system(self.system)
        return Coefficients(reduction.system, tuple(code[reduction.profiles] for code in self.codes))

    def __repr__(self) -> str:
        rows, profiles = self.shape
        sizes = np.diff(self.system.offsets)
        blocks = (f"{' x '.join(scope)}: {size}" for scope, size in zip(self.system.scopes, sizes, strict=True))
        # a repr does not start an elimination
        known = f"rank {self.rank}" if "independence" in self.__dict__ else "rank not computed yet"
        return (
            f"Coefficients({rows} rows of {len(sizes)} constraints ({join_some(blocks, 6)}) on {profiles} {PROFILE}s, "
            f"{known}, matrix {readable(self.nbytes)})"
        )


def coefficients(reference: Table, constraints: Constraints) -> Coefficients:
    """Return the constraints on the support of the reference as a labelled sparse matrix C with its targets b.

    Targets are aligned by attribute name and category label; their consistency is not checked here.

    Raises
    ------
    UnknownAttributeError, UnknownCategoryError
        A target has an attribute or category that the reference lacks, or lacks a category that has mass there.
    InvalidTableError
        The reference is not a valid table.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> c = pt.coefficients(counts, pt.marginals_of(counts, "sex | age"))
    >>> c.rank
    3
    >>> c.matrix.toarray()
    array([[1., 0., 0.],
           [0., 1., 1.],
           [1., 1., 0.],
           [0., 0., 1.]])
    >>> str(c.redundant_rows[0])
    'sex=m is (age=old) + (age=young) - (sex=f)'
    """
    coded = encode(reference)
    return Coefficients(align(coded, as_constraints(constraints)), coded.codes)


def degrees_of_freedom(reference: Table, constraints: Constraints) -> int:
    """Return the dimension of the set of tables that meet the constraints on the support of the reference.

    It is the number of profiles minus the exact rank of the constraints. Profiles that targets of 0 exclude do not
    count. Formulas that use only the numbers of categories are wrong if the support has zeros.

    Raises
    ------
    UnknownAttributeError, UnknownCategoryError, InvalidTableError
        As `coefficients`.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m", "f"], "age": ["old", "old", "young", "young"]})
    >>> pt.degrees_of_freedom(counts, pt.marginals_of(counts, "sex | age"))
    1
    """
    reduced = coefficients(reference, constraints).reduce()
    return reduced.system.profiles - reduced.rank
