"""Who takes part: purtensor's solvers, a researcher's own object with a `step`, and the peers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any, TypeAlias

from purtensor._options import items_of
from purtensor.comparison.entries import Entry, StepEntry, WholeCallEntry
from purtensor.comparison.peer_entry import PeerEntry
from purtensor.comparison.peers import PEERS
from purtensor.comparison.questions import Question
from purtensor.comparison.rule import Rule
from purtensor.errors import InvalidOptionError
from purtensor.solving.iterate import Solver
from purtensor.solving.solvers import SOLVERS
from purtensor.solving.solvers.by_name import solver_named
from purtensor.solving.solvers.ipf.solver import IPF

# the name of `pt.project` itself, from labels to labels
WHOLE_CALL = "project"

# short for ipf(acceleration='anderson')
ACCELERATED = "ipf-anderson"

Solvers: TypeAlias = "str | Solver | Iterable[str | Solver] | Mapping[str, str | Solver]"


@dataclass(frozen=True, slots=True)
class Contender:
    """A name, and what makes its entry for a problem; other processes can unpickle both."""

    name: str
    enter: Callable[[Question, Rule], Entry]


def solver_names() -> tuple[str, ...]:
    """Return the names of solvers that `compare` knows: purtensor's own, then the peers."""
    return (*SOLVERS, ACCELERATED, WHOLE_CALL, *PEERS)


def contenders(solvers: Solvers) -> list[Contender]:
    """Return the solvers to compare, each with a unique name.

    Raises
    ------
    InvalidOptionError
        An unknown name, an object without a `step`, a repeated name, or no solver.
    """
    if isinstance(solvers, Mapping):
        named = dict(solvers)
    else:
        several = [solvers] if isinstance(solvers, (str, Solver)) else items_of(solvers)
        if several is None:
            raise InvalidOptionError(f"solvers must be names, or objects with a step, got {solvers!r}")
        listed = [_check_solver(solver) for solver in several]
        names = [name_of(solver) for solver in listed]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidOptionError(f"two solvers are named {twice!r}; pass a mapping to name them")
        named = dict(zip(names, listed, strict=True))
    if not named:
        raise InvalidOptionError("no solver was given: name at least one")
    return [_contender(name, solver) for name, solver in named.items()]


def name_of(solver: Any) -> str:
    """Return the name of a solver: its own, or its type with the options that are not the usual ones.

    Examples
    --------
    >>> name_of("ipfn"), name_of(IPF()), name_of(IPF(relaxation=1.5))
    ('ipfn', 'IPF', 'IPF(relaxation=1.5)')
    """
    if isinstance(solver, str):
        return solver
    named = getattr(solver, "name", None)
    if isinstance(named, str) and named:
        return named
    options = []
    if is_dataclass(solver):
        for field in fields(solver):
            value = getattr(solver, field.name)
            if value != field.default:
                options.append(f"{field.name}={value!r}")
    return type(solver).__name__ + (f"({', '.join(options)})" if options else "")


def _solver_of(text: str) -> Solver:
    if text == ACCELERATED:
        return IPF(acceleration="anderson")
    if text.partition("(")[0] not in SOLVERS:
        raise InvalidOptionError.among("solver", text, solver_names())
    return solver_named(text)


def _check_solver(solver: Any) -> Any:
    if not (isinstance(solver, str) or (callable(getattr(solver, "step", None)) and not isinstance(solver, type))):
        raise InvalidOptionError(f"a solver must be a name or an object with a step, such as IPF(), got {solver!r}")
    return solver


def _contender(name: str, solver: Any) -> Contender:
    if isinstance(_check_solver(solver), str):
        if solver == WHOLE_CALL:
            return Contender(name, WholeCallEntry)
        if solver in PEERS:
            return Contender(name, partial(PeerEntry, peer=solver))
        solver = _solver_of(solver)
    return Contender(name, partial(StepEntry, solver=solver))
