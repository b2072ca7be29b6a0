"""Solvers by name, with or without options."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module

from purtensor._options import name_and_options
from purtensor.errors import InvalidOptionError
from purtensor.solving.iterate import Solver
from purtensor.solving.solvers import SOLVERS


def solver_type(name: str) -> type[Solver]:
    """Return the class of a solver in `SOLVERS`."""
    module, _, found = SOLVERS[name].rpartition(".")
    solver: type[Solver] = getattr(import_module(f"purtensor.solving.solvers.{module}"), found)
    return solver


def solver_named(text: str) -> Solver:
    """Return the solver that is written as its name, or as its name with options in brackets.

    Raises
    ------
    InvalidOptionError
        An unknown name or option, or a value that the solver does not take.

    Examples
    --------
    >>> solver_named("newton"), solver_named("ipf(relaxation=1.5)")
    (Newton(warm_up=3), IPF(order=None, relaxation=1.5, acceleration=None, blocks=None))
    """
    name, options = name_and_options(text)
    if name not in SOLVERS:
        raise InvalidOptionError.among("solver", name, SOLVERS)
    found = solver_type(name)
    known = [field.name for field in fields(found)]  # type: ignore[arg-type]
    unknown = [option for option in options if option not in known]
    if unknown:
        message = f"{name} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}"
        raise InvalidOptionError.among("option", unknown[0], known, message)
    try:
        return found(**options)
    except TypeError as error:
        raise InvalidOptionError(f"{name} does not accept {options}: {error}") from None
