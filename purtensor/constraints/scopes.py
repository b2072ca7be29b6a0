"""Scopes as people write them: tuples of attribute names, 'income sex | income age', '~ income*sex + income*age'."""

from __future__ import annotations

import re
from collections.abc import Iterable

from purtensor._options import items_of
from purtensor.errors import InvalidOptionError

Scopes = str | Iterable[str | Iterable[str]]
"""A list of scopes (a bare string in it is a scope of one attribute), or all of them in one string."""

_NOTHING_ELSE = "scopes look like [('income', 'age'), 'sex'], 'income age | sex' or '~ income*age + sex'"


def read_scopes(scopes: Scopes) -> tuple[tuple[str, ...], ...]:
    """Return the scopes as tuples of attribute names, in the order given.

    One string holds names with spaces or commas between them and `|` between scopes, or is a formula of R: `~`,
    terms with `+` between them, names joined by `*` or `:`. Names that contain such signs are given in tuples.

    Raises
    ------
    InvalidOptionError
        Something else, a scope without a name, or no scope at all.
    """
    # signs of a formula decide; without any the string has names and bars
    if isinstance(scopes, str):
        bars = tuple(tuple(re.findall(r"[^\s,]+", part)) for part in scopes.split("|"))
        read = _read_formula(scopes) if re.search(r"[~+*:]", scopes) else bars
    elif (several := items_of(scopes)) is not None:
        read = tuple(_read_scope(scope) for scope in several)
    else:
        raise InvalidOptionError(f"scopes must be names, got {type(scopes).__qualname__}; {_NOTHING_ELSE}")
    if not read or not all(read):
        raise InvalidOptionError(
            f"{'a scope is empty' if read else 'no scope was given'} in {scopes!r}; {_NOTHING_ELSE}"
        )
    return read


def _read_scope(scope: str | Iterable[str]) -> tuple[str, ...]:
    if isinstance(scope, str):
        return (scope,)
    found = items_of(scope)
    given = [scope] if found is None else found
    # sets have no order of their own: sorted, so that every run has the same
    names = tuple(sorted(given, key=str) if isinstance(scope, set | frozenset) else given)
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise InvalidOptionError(f"a scope must contain attribute names, got {wrong[0]!r}; {_NOTHING_ELSE}")
    return names


def _read_formula(text: str) -> tuple[tuple[str, ...], ...]:
    left, _, right = text.rpartition("~")
    # R's other operators mean models that marginals do not express
    unknown = re.search(r"[-^()|/%]", right)
    if left.strip() or unknown:
        sign = unknown.group() if unknown else left.strip()
        raise InvalidOptionError(f"cannot read {sign!r} in the formula {text!r}; {_NOTHING_ELSE}")
    terms = [re.split(r"[*:]", term) for term in right.split("+")]
    names = tuple(tuple(name.strip() for name in term) for term in terms)
    broken = [name for term in names for name in term if not name or re.search(r"\s", name)]
    if broken:
        what = f"there is no operator between the names {broken[0]!r}" if broken[0] else "a name is missing"
        raise InvalidOptionError(f"{what} in the formula {text!r}; {_NOTHING_ELSE}")
    return names
