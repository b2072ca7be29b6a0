"""The verdict on a reference and constraints, with the witness that proves it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from purtensor._lazy_field import lazy_field
from purtensor._typing import Table, TableT
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.soft import soft_positions
from purtensor.constraints.system import System
from purtensor.errors import InvalidOptionError
from purtensor.feasibility.explanation import Explanation
from purtensor.feasibility.verdict import Decision, Verdict
from purtensor.feasibility.violation import (
    Incompatibility,
    Violation,
    incompatibility,
    smallest_miss,
    smallest_violation,
)

TableT_co = TypeVar("TableT_co", covariant=True)


class Witness(Protocol[TableT_co]):
    """What a verdict rests on, in memory or on disk: see `Diagnosis` for each."""

    @property
    def implied_zeros(self) -> TableT_co:
        """The profiles that are empty in every solution."""
        ...

    @property
    def solution(self) -> TableT_co | None:
        """A table that meets the constraints."""
        ...

    @property
    def at_bound(self) -> Table:
        """The profiles at a bound in every solution."""
        ...

    @property
    def explanation(self) -> Explanation:
        """The verdict in words."""
        ...

    @property
    def has_face(self) -> bool:
        """Whether what the implied zeros leave can be solved where the numbers are."""
        ...

    def certificate_chunks(self, diagnosis: Diagnosis[Any]) -> Iterator[tuple[Table, ...]]:
        """Yield the whole proof, part by part."""
        ...

    def verify(self, diagnosis: Diagnosis[Any]) -> bool:
        """Return whether the verdict is proved."""
        ...

    def in_memory(self, what: str) -> tuple[System, Decision]:
        """Return the arrays of a verdict on marginals in memory; elsewhere refuse `what`, which was asked of them."""
        ...


class HeldProof:
    """What witnesses in memory have in common."""

    @property
    def has_face(self) -> bool:
        """Always."""
        return True

    def certificate_chunks(self, diagnosis: Diagnosis[Any]) -> Iterator[tuple[Table, ...]]:
        """Yield the whole proof at once."""
        if diagnosis.certificate:
            yield diagnosis.certificate


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Diagnosis(Generic[TableT]):
    """The verdict on whether constraints can be met on the support of a reference, with a checkable witness.

    Attributes
    ----------
    verdict
        "interior", "boundary", "infeasible" or "open"; `verdict.sentence` says it in words. Open where nothing decides.
    implied_zeros
        A sparse table of the profiles with reference mass that are empty in every solution, including those that
        targets of 0 exclude; its values are the masses of the reference.
    certificate
        A table of whole numbers t for each constraint. For every profile the sum of its entries, C^T t, is not
        negative; summed against the targets, b.t, they give less than 0 (infeasible), or 0 while C^T t is positive at
        exactly the implied zeros (boundary). Empty where the verdict is interior. Of a stored table these may be the
        weights of the constraints that couple its slabs only; `certificate_chunks` yields all. With rows of any kind
        or bounds it is a whole number for each row, over the dimension `row`: the least that C^T t can come to within
        the bounds is more than b.t; its last table is of the total where that was given as an option.
    solution
        A table that meets the constraints to rounding, with mass on every profile except the implied zeros; None if
        there is none. For a stored table it is written at the first access.
    exact
        Which arithmetic proved it: "rational" where the targets are whole multiples of one unit, or products of such
        marginals; "interval" where they are floats, known to rounding; then a boundary is a "boundary to rounding".
        "nothing" where the verdict is open, or says that rows of any kind can be met: they are, to rounding.
    reference, constraints
        The diagnosed problem; not copied.
    evidence
        What the verdict rests on, in memory or on disk.
    """

    verdict: Verdict
    certificate: tuple[Table, ...]
    exact: str
    reference: TableT
    constraints: tuple[Any, ...]
    evidence: Witness[TableT]
    implied_zeros: TableT = lazy_field()
    solution: TableT | None = lazy_field()

    @cached_property
    def explanation(self) -> Explanation:
        """The verdict in words; for a contradiction the smallest set of attributes and constraints that show it."""
        return self.evidence.explanation

    def __repr__(self) -> str:
        return f"Diagnosis(verdict={self.verdict!r}, exact={self.exact!r})"

    def __str__(self) -> str:
        return f"{self.verdict}\n{self.explanation}"

    def _repr_html_(self) -> str:
        return f"<p><b>{self.verdict}</b></p>{self.explanation._repr_html_()}"

    def certificate_chunks(self) -> Iterator[tuple[Table, ...]]:
        """Yield the complete proof: for each step and part, a table of weights per constraint; one part in memory."""
        return self.evidence.certificate_chunks(self)

    def smallest_miss(self) -> Violation | None:
        """Return the smallest sum of the misses of all targets (L1, total mass 1); None where the program fails.

        Raises
        ------
        InvalidOptionError
            The reference is a stored table.

        Examples
        --------
        >>> import purtensor as pt
        >>> problem = pt.problems.load("cut_3x3")
        >>> str(pt.diagnose(problem.reference, problem.constraints).smallest_miss().proved)
        '2/3'
        """
        system, decision = self.evidence.in_memory("smallest_miss")
        return smallest_miss(system, decision.targets)

    def incompatibility(self) -> Incompatibility | None:
        """Return one minus the largest mass of a table on the support whose marginals exceed no target.

        It is 0 if the constraints can be met: the share of the total mass that cannot be placed. Its `weights` prove a
        lower bound, `proved`, in exact arithmetic. None if the linear program fails.

        Raises
        ------
        InvalidOptionError
            The reference is a stored table.

        Examples
        --------
        >>> import purtensor as pt
        >>> problem = pt.problems.load("cut_3x3")
        >>> str(pt.diagnose(problem.reference, problem.constraints).incompatibility().proved)
        '1/3'
        """
        system, decision = self.evidence.in_memory("incompatibility")
        return incompatibility(system, decision.targets)

    def smallest_violation(self, soft: int | Marginal | Iterable[int | Marginal] = 0) -> Violation | None:
        """Return the smallest sum of the misses of some constraints while all others are met (L1, total mass 1).

        Parameters
        ----------
        soft
            The constraints that may be violated: one or more Marginals, or their positions; in PUR the first is
            parity. For parity with two responses the answer is an exact maximum flow; otherwise it comes from a linear
            program, with an exact lower bound.

        Raises
        ------
        InvalidOptionError
            `soft` names no constraint, or one that is not among them; or the reference is a stored table.

        Examples
        --------
        >>> import purtensor as pt
        >>> problem = pt.problems.load("proxy")
        >>> pt.diagnose(problem.reference, problem.constraints).smallest_violation().value
        0.4
        """
        system, decision = self.evidence.in_memory("smallest_violation")
        return smallest_violation(system, decision.targets, list(soft_positions(self.constraints, soft)))

    @property
    def at_bound(self) -> Table:
        """-1 and 1 for profiles at their lower and upper bound in every solution, else 0; of tables in memory."""
        return self.evidence.at_bound

    @property
    def zeros_beyond_targets(self) -> Table:
        """The implied zeros that are not excluded by a single target of 0, but by several constraints together."""
        _, decision = self.evidence.in_memory("zeros_beyond_targets")
        zeros: Any = self.implied_zeros
        beyond: Table = zeros[~decision.by_target[decision.zeros]]
        return beyond

    def verify(self) -> bool:
        """Check the witness of the verdict again, from the tables in rational arithmetic, and return whether it holds.

        The targets are taken as the exact numbers that their floats round, the same that the verdict is about; an
        exact solution is summed label by label. Of a stored table whole numbers are summed exactly, and the solution is
        summed from its table, by code that the search does not share. An open verdict has no witness.
        """
        return self.evidence.verify(self)


def refuse_stored(what: str) -> InvalidOptionError:
    """Return why something is not known of a stored table."""
    return InvalidOptionError(f"{what} is only computed in memory: diagnose the to_table() of the reference")
