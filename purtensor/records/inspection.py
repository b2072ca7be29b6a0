"""A look at records before anything is solved: what each column is, what it looks like, and what to type next."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from purtensor._printing import Shown
from purtensor._typing import Attributes, Table
from purtensor.errors import SuspiciousColumnWarning, UnknownAttributeError
from purtensor.records.column_facts import ColumnFacts, column_facts, facts_frame, look_of
from purtensor.records.files import RecordFiles, open_records, paths_in
from purtensor.records.groups import lazy_frame
from purtensor.records.tabulate import COUNT, tabulate
from purtensor.tables.domain import PROFILE, as_attributes
from purtensor.tables.io.text_dialect import advise_option
from purtensor.tables.marginal import marginal
from purtensor.tables.memory import readable
from purtensor.tables.suspects import NUMBER, WEIGHT, Suspect, suspect

_PROTECTED = re.compile(
    r"sex|gender|race|ethnicity|ethnic.*|religion|nationality|native.?country|disab.*|skin.*|orientation|caste", re.I
)
# from this share of the protected attributes' entropy on, a column is called a proxy
_TELLS = 0.25
_BYTES, _SECONDS = 700, 30e-6
"""Of PUR on a profile, measured on one core with 40,000 and 250,000 profiles of seven attributes."""


@dataclass(frozen=True, slots=True, repr=False)
class Inspection(Shown):
    """A description of the columns of records; returned by `inspect`.

    Attributes
    ----------
    columns
        One row per column: `type`, `categories`, `missing`, `rare` (the fewest rows that a category has), `examples`,
        `looks_like` (attribute, weight or count, identifier, number to bin, many categories, constant, or proxy), and
        `tells`, the share of the entropy of the protected attributes that the column explains, NaN for these
        themselves.
    rows
        The number of records.
    profiles
        The number of different profiles of the attributes, with numbers in four bins.
    supported
        The number of profiles of a projection: every response with the observed predictor profiles; equal to
        `profiles` if no response is named.
    warnings
        The decisions to make, one sentence each with the option to give.
    roles
        The response, the protected attributes and the weights, as given or guessed by name.

    Examples
    --------
    >>> import purtensor as pt
    >>> pt.inspect({"sex": ["f", "m", "m"], "Freq": [3, 1, 2]}).warnings[0].partition(",")[0]
    "column 'Freq' has the name of a weight or a count"
    """

    columns: pd.DataFrame
    rows: int
    profiles: int
    supported: int
    warnings: tuple[str, ...]
    roles: dict[str, Any] = field(default_factory=dict)

    @property
    def memory(self) -> int:
        """The bytes that projecting on parity, utility and realism takes, roughly."""
        return self.supported * _BYTES

    @property
    def seconds(self) -> float:
        """The seconds of one core that it takes, roughly, where nothing conflicts."""
        return self.supported * _SECONDS

    def summary(self) -> dict[str, str]:
        """Return the facts as text."""
        attributes = [name for name, kind in self.columns["looks_like"].items() if kind in ("attribute", "proxy")]
        told = {f"look at {k}": text for k, text in enumerate(self.warnings, start=1)}
        return {
            "records": f"{self.rows:,}",
            "attributes": ", ".join(map(str, attributes)),
            "profiles": f"{self.profiles:,} observed, {self.supported:,} to project",
            "a projection takes": f"about {readable(self.memory)} and {self.seconds:.2g} s of one core",
            **told,
        }

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Return what a notebook shows: the columns."""
        return {"columns": self.columns}

    def options(self) -> dict[str, Any]:
        """Return what to type after `project` on the command line, by option."""
        looks = self.columns["looks_like"]
        response, protected = self.roles.get("response"), self.roles["protected"]
        kept = [
            name
            for name, kind in looks.items()
            if kind in ("attribute", "proxy", NUMBER) and name != response and name not in protected
        ]
        return {
            "response": response or "Y",
            "protected": list(protected) or ["S"],
            "unprotected": kept,
            "weights": self.roles.get("weights"),
            "bins": [f"{name}=quantiles:4" for name, kind in looks.items() if kind == NUMBER and name in kept],
            "missing_values": self.roles["spelled"],
            "missing": "category" if self.roles["gaps"] else None,
        }

    def command(self, file: str = "FILE") -> str:
        """Return the command line that makes these records fair, with Y and S for columns that were not named."""
        words = ["purtensor", "project", file]
        for name, value in self.options().items():
            if value:
                words += [f"--{name.replace('_', '-')}", *([value] if isinstance(value, str) else map(str, value))]
        return " ".join(map(shlex.quote, [*words, "--out", "fair.csv"]))


def inspect(
    records: Any, *, response: str | None = None, protected: Attributes | None = None, weights: str | None = None
) -> Inspection:
    """Describe the columns of records before anything is solved.

    For each column the result has its categories, missing values and type, and whether it looks like a weight or a
    count, an identifier, a number to be binned, or a proxy of the protected attributes; also the size of a projection,
    and the command to run next.

    Parameters
    ----------
    records
        As in `tabulate`: a frame, a dict of arrays, a lazy frame, or files. They are read twice.
    response
        The response column, if known.
    protected
        The columns that the response must not depend on; those called sex, gender, race and similar names when None.
    weights
        The column with a weight for each row; the one called `count`, or the first that looks like one, when None.

    Raises
    ------
    InvalidTableError
        Not records, or no records.
    UnknownAttributeError
        A column that the records do not have.
    UnreadableFileError, FileFormatError
        As `purtensor.records.files.open_records`.

    Examples
    --------
    >>> import purtensor as pt
    >>> people = {"id": range(60), "sex": ["f", "m"] * 30, "age": [*range(20, 65), *range(30, 45)],
    ...           "pweight": [0.5, 1.5] * 30}
    >>> found = pt.inspect(people)
    >>> found.columns["looks_like"].to_dict()
    {'id': 'identifier', 'sex': 'attribute', 'age': 'number to bin', 'pweight': 'weight or count'}
    >>> found.command("people.csv").partition(" --unprotected ")[2]
    'age --weights pweight --bins age=quantiles:4 --out fair.csv'
    """
    if paths_in(records):
        records = open_records(records)
    # the first reading; the second counts profiles, once it is known what is no attribute
    facts = column_facts(records)
    suspects = {name: suspect(name, one.values, one.rows) for name, one in facts.items()}
    asked = _roles(facts, suspects, response, protected, weights)
    looks = {name: look_of(one, suspects[name]) for name, one in facts.items()}
    if asked["weights"]:
        looks[asked["weights"]] = WEIGHT
    counts = _count(records, facts, looks, asked)
    tells = {} if counts is None else _measure_proxies(counts, asked["protected"])
    for name, share in tells.items():
        if share >= _TELLS and looks[name] == "attribute" and name != asked.get("response"):
            looks[name] = "proxy"
    rows = next(iter(facts.values())).rows
    return Inspection(
        facts_frame(facts, looks, tells),
        rows,
        0 if counts is None else counts.size,
        0 if counts is None else _count_supported(counts, asked.get("response")),
        tuple(_sentences(facts, suspects, looks, tells, asked, isinstance(records, RecordFiles) and records.is_text)),
        asked,
    )


def _roles(
    facts: Mapping[str, ColumnFacts],
    suspects: Mapping[str, Suspect | None],
    response: str | None,
    protected: Attributes | None,
    weights: str | None,
) -> dict[str, Any]:
    names = tuple(as_attributes(protected)) if protected is not None else ()
    for name in (*([response] if response else []), *names, *([weights] if weights else [])):
        if name not in facts:
            raise UnknownAttributeError.among(name, facts, "this set of records")
    if protected is None:
        names = tuple(
            name for name in facts if _PROTECTED.fullmatch(name) and name != response and suspects[name] is None
        )
    looking = [name for name, found in suspects.items() if found is not None and found.kind == WEIGHT]
    # first of all the column that tabulate takes unasked
    likely = COUNT if COUNT in looking else next(iter(looking), None)
    spelled = sorted({text.strip() for one in facts.values() for text in one.spelled})
    gaps = any(one.missing or one.spelled for one in facts.values())
    return {"response": response, "protected": names, "weights": weights or likely, "spelled": spelled, "gaps": gaps}


def _count(
    records: Any, facts: Mapping[str, ColumnFacts], looks: Mapping[str, str], asked: Mapping[str, Any]
) -> Table | None:
    """Return the counts over the attributes, with numbers in four bins; None without attributes."""
    bins = {
        name: "quantiles:4"
        for name, kind in looks.items()
        # quantiles of a single number make no bin
        if kind == NUMBER and lazy_frame(records) is None and np.ptp(facts[name].values) > 0
    }
    names = [name for name, kind in looks.items() if kind == "attribute" or name in bins]
    if not names:
        return None
    if isinstance(records, RecordFiles) and records.is_text:
        # what other programs write for a missing value counts as one here; tabulate would refuse it
        spelled = (*records.options.missing_values, *asked["spelled"])
        records = replace(records, options=replace(records.options, missing_values=spelled))
    with warnings.catch_warnings():
        # the result itself says what looks suspicious
        warnings.simplefilter("ignore", SuspiciousColumnWarning)
        # gaps as a category: nothing is decided yet, and nothing is to be refused
        return tabulate(records, names, missing="category", bins=bins)


def _count_supported(counts: Table, response: str | None) -> int:
    names = list(counts.indexes[PROFILE].names)
    if response is None or response not in names or len(names) < 2:
        return int(counts.size)
    # every response with every observed profile of the predictors, as regularize supports them
    rest = marginal(counts, [name for name in names if name != response])
    return int(rest.size) * int(marginal(counts, response).size)


def _measure_proxies(counts: Table, protected: tuple[str, ...]) -> dict[str, float]:
    """Return the share of the entropy of the protected attributes that each other attribute explains; 1 is all."""
    names = list(counts.indexes[PROFILE].names)
    theirs = [name for name in protected if name in names]
    if not theirs:
        return {}
    whole = _entropy(marginal(counts, theirs))
    others = [name for name in names if name not in theirs]
    if whole <= 0:
        return {}
    return {
        # mutual information, which rounding may bring a little below 0
        name: max(0.0, (whole + _entropy(marginal(counts, name)) - _entropy(marginal(counts, [*theirs, name]))) / whole)
        for name in others
    }


def _entropy(table: Table) -> float:
    masses = table.values[table.values > 0] / table.values.sum()
    return float(-(masses * np.log(masses)).sum())


def _sentences(
    facts: Mapping[str, ColumnFacts],
    suspects: Mapping[str, Suspect | None],
    looks: Mapping[str, str],
    tells: Mapping[str, float],
    asked: Mapping[str, Any],
    is_text: bool,
) -> list[str]:
    """Return the decisions to make on each column; those about cells of text files name the options of these."""
    told = [str(found) for name, found in suspects.items() if found is not None]
    for name, one in facts.items():
        if one.spelled:
            texts = ", ".join(repr(text) for text in one.spelled)
            typed = f"missing_values={[text.strip() for text in one.spelled]}"
            rows = sum(one.spelled.values())
            told.append(
                f"column {name!r} has {texts} in {rows:,} rows, which other programs write for missing values; "
                f"{f'give {advise_option(typed)}' if is_text else 'replace it by None'} if they are missing"
            )
        elif one.missing:
            advice = "give missing='drop' or missing='category'"
            told.append(f"column {name!r} is missing in {one.missing:,} rows; {advice}")
        if looks[name] == "constant":
            told.append(f"column {name!r} has only one category; remove it")
        if looks[name] == "proxy":
            told.append(
                f"column {name!r} reveals {tells[name]:.0%} of {' and '.join(asked['protected'])}: parity may be "
                "costly or impossible with it"
            )
    return told
