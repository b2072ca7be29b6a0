"""The names, and what each stands for."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from purtensor._options import check_name, is_count, is_number
from purtensor.errors import InvalidOptionError
from purtensor.problems.classical import and_gate, cut_3x3, haberman, haberman_boundary, proxy, staircase
from purtensor.problems.dense import (
    binary_problem,
    cube_problem,
    graph_problem,
    input_output_problem,
    transport_problem,
    trips_problem,
)
from purtensor.problems.named import NamedProblem
from purtensor.problems.pur import pur_problem
from purtensor.problems.records import records_problem
from purtensor.sampling.checks import generator

_FAMILIES: dict[str, Callable[..., NamedProblem]] = {
    "pur": pur_problem,
    "binary": binary_problem,
    "cube": cube_problem,
    "records": records_problem,
    "transport": transport_problem,
    "trips": trips_problem,
    "input_output": input_output_problem,
    "graph": graph_problem,
}

_paper_size = partial(pur_problem, responses=5, protected=6, unprotected=210)
_ten_thousand = partial(pur_problem, responses=5, protected=6, unprotected=10**4)

_SIMULATED: dict[str, Callable[..., NamedProblem]] = {
    "a": partial(pur_problem, responses=2, protected=4, unprotected=27, records=46043),
    "b": partial(_paper_size, records=45000),
    "b_hard": partial(_paper_size, records=9000),
    "b_hard2": partial(_paper_size, records=3000),
    "b_hardbias": partial(_paper_size, records=9000, bias=1.2),
    "b_inf": partial(_paper_size, records=300, bias=2.0, confounding=2.0),
    "b_lam0": partial(_paper_size, records=9000, strength=0.0),
    "c": partial(_ten_thousand, records=10**7),
    "c_hard": partial(_ten_thousand, records=4 * 10**5),
    "c_hard2": partial(_ten_thousand, records=10**5),
    "d": partial(pur_problem, responses=5, protected=6, unprotected=10**5, records=10**8),
    "e": partial(pur_problem, responses=5, protected=6, unprotected=10**6),
    "f": partial(pur_problem, responses=10, protected=20, unprotected=10**5),
    "g": partial(binary_problem, attributes=16),
    "h": partial(binary_problem, attributes=20),
    "i": partial(records_problem, profiles=10**6),
    "i4": partial(records_problem, profiles=10**4),
    "i5": partial(records_problem, profiles=10**5),
    "j": partial(cube_problem, categories=300),
}

_CLASSICAL: dict[str, Callable[[], NamedProblem]] = {
    "staircase": staircase,
    "and_gate": and_gate,
    "haberman": haberman,
    "haberman_boundary": haberman_boundary,
    "proxy": proxy,
    "cut_3x3": cut_3x3,
}


def names() -> tuple[str, ...]:
    """Return the names that `load` knows: the benchmark problems, then the classical ones.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.problems.names()[:3]
    ('a', 'b', 'b_hard')
    """
    return (*_SIMULATED, *_CLASSICAL)


def families() -> tuple[str, ...]:
    """Return the families that `generate` knows.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.problems.families()
    ('pur', 'binary', 'cube', 'records', 'transport', 'trips', 'input_output', 'graph')
    """
    return tuple(_FAMILIES)


def load(name: str) -> NamedProblem:
    """Return the problem of that name, generated from the seed that the name fixes.

    Raises
    ------
    InvalidOptionError
        An unknown name; the message lists the known ones.

    Examples
    --------
    >>> import purtensor as pt
    >>> problem = pt.problems.load("b")
    >>> problem.reference.sizes["x"], [marginal.scope for marginal in problem.constraints]
    (208, [('y', 's'), ('y', 'x'), ('s', 'x')])
    """
    check_name("a problem", name)
    if name in _CLASSICAL:
        return _CLASSICAL[name]()
    if name not in _SIMULATED:
        raise InvalidOptionError.among("problem", name, names())
    # CRC-32 is the same in every process, as Python's hash is not
    return _SIMULATED[name](name, np.random.default_rng(zlib.crc32(name.encode())))


def variant(name: str, **options: Any) -> NamedProblem:
    """Return the simulated problem of a name with other options, drawn from the same random numbers.

    So the counts of "b" are kept when only the strength of their regularization changes.

    Parameters
    ----------
    options
        Those of the family of `name`, as `generate` takes them.

    Raises
    ------
    InvalidOptionError
        A name that stands for no simulated problem, or an option that its family does not have.

    Examples
    --------
    >>> import purtensor as pt
    >>> weak, usual = (pt.problems.variant("b", strength=strength).masses > 0 for strength in (1e-6, 1e-4))
    >>> bool((weak == usual).all())
    True
    """
    check_name("a problem", name)
    if name not in _SIMULATED:
        raise InvalidOptionError.among("simulated problem", name, _SIMULATED)
    build = _SIMULATED[name]
    # options of an inner partial hold unless an outer one has others
    own: dict[str, Any] = {}
    while isinstance(build, partial):
        own = {**build.keywords, **own}
        build = build.func
    family = next(known for known, function in _FAMILIES.items() if function is build)
    _check_sizes(family, build, {**own, **options})
    given = ", ".join(f"{option}={value}" for option, value in options.items())
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return build(f"{name} with {given}" if given else name, rng, **{**own, **options})


def generate(family: str, *, seed: int | np.random.Generator, **sizes: Any) -> NamedProblem:
    """Return a problem of a family by its sizes.

    Parameters
    ----------
    family
        "pur" (responses, protected, unprotected, and optionally records, strength, confounding, utility, bias,
        interaction), "binary" (attributes), "cube" (categories), "records" (profiles, and optionally attributes,
        categories, classes), "transport" (points, and optionally regularization: entropic optimal transport), "trips"
        (zones, and optionally deterrence: a gravity model), "input_output" (sectors, and optionally empty, growth:
        RAS) or "graph" (nodes, categories, and optionally regularization, ring: multi-marginal transport).
    seed
        An integer or a generator; the same integer gives the same problem.
    sizes
        The options of the family.

    Raises
    ------
    InvalidOptionError
        An unknown family, an option that it does not have or lacks, or a size that is not a positive number.
    TooLargeError
        A problem that takes more memory than there is.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.problems.generate("pur", seed=1, responses=2, protected=3, unprotected=40).reference.shape
    (2, 3, 40)
    """
    check_name("a family", family)
    if family not in _FAMILIES:
        raise InvalidOptionError.among("family", family, _FAMILIES)
    build = _FAMILIES[family]
    _check_sizes(family, build, sizes)
    given = ", ".join(f"{option}={value}" for option, value in sizes.items())
    return build(f"{family}({given})", generator(seed), **sizes)


def _check_sizes(family: str, build: Callable[..., NamedProblem], sizes: dict[str, Any]) -> None:
    known = {
        option: parameter
        for option, parameter in inspect.signature(build).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    for option, value in sizes.items():
        if option not in known:
            raise InvalidOptionError(f"no option {option!r} in family {family!r}; its options are {', '.join(known)}")
        _check_size(option, value, annotation=str(known[option].annotation))
    lacking = [
        option
        for option, parameter in known.items()
        if parameter.default is inspect.Parameter.empty and option not in sizes
    ]
    if lacking:
        raise InvalidOptionError(f"family {family!r} needs {lacking[0]!r}, a positive number")


def _check_size(option: str, value: Any, annotation: str) -> None:
    if annotation == "float":
        if not (is_number(value) and 0 <= value < np.inf):
            raise InvalidOptionError(f"{option} must be a finite number that is not negative, got {value!r}")
    elif value is None and "None" in annotation:
        return
    elif not (is_count(value) and value >= 1):
        raise InvalidOptionError(f"{option} must be a positive whole number, got {value!r}")
