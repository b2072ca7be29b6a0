"""What is compared on: problems by name, by family and sizes, from files or from the user's own tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from purtensor._options import items_of, name_and_options
from purtensor._typing import FloatArray, Table
from purtensor.comparison.plain import PlainProblem
from purtensor.constraints.consistency import check_consistency
from purtensor.constraints.marginals import Constraints, as_constraints
from purtensor.constraints.system import align
from purtensor.errors import InfeasibleError, InvalidOptionError
from purtensor.problems.registry import families, generate, load
from purtensor.projection.deliver import require_uninterrupted
from purtensor.projection.files import load as load_result
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.solving.problem import LabelledProblem, build_problem
from purtensor.tables.coded import CodedTable, encode

# the tolerance of the answer that all others are compared with, stricter than theirs
_CERTIFIED_TOLERANCE = 1e-13


@runtime_checkable
class ProblemLike(Protocol):
    """Anything with a reference and constraints, such as `pt.problems.load("b")` or a Projection."""

    @property
    def reference(self) -> Table:
        """What to stay close to."""
        ...

    @property
    def constraints(self) -> Constraints:
        """The marginals that must hold."""
        ...


OneProblem: TypeAlias = "str | Path | ProblemLike | tuple[Table, Constraints]"
Problems: TypeAlias = "OneProblem | Iterable[OneProblem] | Mapping[str, OneProblem]"


@dataclass(frozen=True, eq=False)
class Question:
    """A problem with a name, as labels, as arrays, and with the certified answer.

    Attributes
    ----------
    name
        As it stands in the tables.
    reference, constraints
        The problem in labels.
    max_seconds
        So long may the certified answer take.
    """

    name: str
    reference: Table
    constraints: tuple[Any, ...]
    max_seconds: float

    @cached_property
    def labelled(self) -> LabelledProblem:
        """The problem as the solvers see it; where a positive target has no profile, with that row all the same."""
        try:
            return build_problem(self.reference, self.constraints)
        except InfeasibleError:
            return build_problem(self.reference, self.constraints, bare_rows=True)

    @cached_property
    def coded(self) -> CodedTable:
        """The reference on its support."""
        return encode(self.reference)

    @cached_property
    def certified(self) -> Projection | None:
        """The answer to a tolerance far below that of the runs, perhaps without proof; None where memory ends."""
        try:
            answer = project(
                self.reference,
                self.constraints,
                tolerance=_CERTIFIED_TOLERANCE,
                max_seconds=self.max_seconds,
                on_failure="return",
            )
            return require_uninterrupted(answer)
        except MemoryError:
            return None

    @cached_property
    def solution(self) -> FloatArray | None:
        """The certified answer on the support of the reference, total mass 1; None where nothing was proved."""
        if self.certified is None or not self.certified.certified:
            return None
        masses: FloatArray = np.asarray(self.certified.table.values).reshape(-1)[self.coded.positions]
        masses /= masses.sum()
        return masses

    @cached_property
    def plain(self) -> PlainProblem:
        """The problem as other packages take it."""
        coded = self.coded
        system = align(coded, self.constraints)
        return PlainProblem(
            sizes=coded.domain.sizes,
            codes=coded.codes,
            masses=coded.values / coded.values.sum(),
            axes=tuple(tuple(coded.domain.position(name) for name in scope) for scope in system.scopes),
            index=system.index,
            offsets=system.offsets,
            targets=system.targets / self.labelled.total,
            row_codes=system.row_codes,
            solution=self.solution,
        )

    def check(self) -> None:
        """Refuse tables and constraints that do not fit together; nothing is kept, for problems may be large."""
        check_consistency(self.constraints)
        align(encode(self.reference), self.constraints)

    def with_answer(self) -> Question:
        """Return the question with its certified answer, and without the arrays that were worked out beside it."""
        fresh = replace(self)
        fresh.__dict__["certified"] = self.certified  # where cached_property looks
        return fresh

    def facts(self) -> dict[str, str]:
        """Return the size of the problem and what is known of its answer, as text."""
        rows, profiles = self.labelled.full.rows, len(self.coded.values)
        answer = self.certified
        if answer is None:
            proved = "none: there is not enough memory"
        elif answer.certified:
            proved = f"divergence {answer.divergence:.9g} nats, proved to {answer.tv_bound:.1e} in total variation"
        else:
            proved = f"none proved: {answer.termination.value}"
        return {
            "profiles": f"{profiles:,}",
            "constraints": f"{len(self.constraints)}, {rows:,} rows",
            "certified answer": proved,
        }


def questions(problems: Problems, max_seconds: float) -> list[Question]:
    """Return the problems with their names.

    Raises
    ------
    InvalidOptionError
        Something that is not a problem, no problem at all, or two with one name.
    """
    named = dict(problems) if isinstance(problems, Mapping) else {}
    if not named:
        for number, item in enumerate(_list_problems(problems), start=1):
            name = _name_of(item, number)
            if name in named:
                raise InvalidOptionError(f"two problems are named {name!r}; pass a mapping to name them")
            named[name] = item
    if not named:
        raise InvalidOptionError("no problem was given: name at least one")
    return [_question(name, item, max_seconds) for name, item in named.items()]


def _list_problems(problems: Any) -> list[Any]:
    single = isinstance(problems, (str, Path, ProblemLike)) or (
        isinstance(problems, tuple) and bool(problems) and isinstance(problems[0], Table)
    )
    if single:
        return [problems]
    found = items_of(problems)
    if found is None:
        raise _refuse_problem(problems)
    return found


def _name_of(item: Any, number: int) -> str:
    if isinstance(item, Path):
        return item.stem
    if isinstance(item, str):
        return Path(item).stem if item.endswith(".nc") else item
    return str(getattr(item, "name", "") or f"problem {number}")


def _question(name: str, item: Any, max_seconds: float) -> Question:
    if isinstance(item, (str, Path)):
        item = _load(item)
    if isinstance(item, ProblemLike):
        item = (item.reference, item.constraints)
    if not (isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], Table)):
        raise _refuse_problem(item)
    reference, constraints = item
    return Question(name, reference, as_constraints(constraints), max_seconds)


def _refuse_problem(item: Any) -> InvalidOptionError:
    return InvalidOptionError(
        "a problem must be a name, a family with sizes such as 'pur(responses=2, protected=3, unprotected=40)', the "
        f"path of a saved projection (.nc), an object with reference and constraints, or a pair of them, got {item!r}"
    )


def _load(item: str | Path) -> ProblemLike:
    """Return the problem given by a text or path: a saved projection, a family with sizes, or a name."""
    text = str(item)
    if isinstance(item, Path) or text.endswith(".nc"):
        saved = load_result(text)
        if not isinstance(saved, Projection):
            raise InvalidOptionError(
                f"{text} contains a table; a problem must be a saved projection, which has constraints"
            )
        return saved
    if text.partition("(")[0] not in families() or not text.endswith(")"):
        return load(text)
    family, sizes = name_and_options(text)
    return generate(family, seed=sizes.pop("seed", 0), **sizes)
