"""`purtensor decide`: decisions about the people of the user's own file, and how fair and how right they are."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from purtensor.cli.decide_columns import as_categories
from purtensor.cli.output import show_facts, show_table, write_frame
from purtensor.cli.question import NETCDF, require_writable, smoothed_in_words
from purtensor.cli.records import COUNT, read_frame
from purtensor.errors import (
    InvalidOptionError,
    InvalidTableError,
    PurtensorError,
    UnknownAttributeError,
    UnknownCategoryError,
)
from purtensor.fairness.decisions import RULES, decide
from purtensor.fairness.rates import accuracy, rates_by_group, smallest_ratios
from purtensor.sklearn.classifier import PURClassifier
from purtensor.tables.domain import listed
from purtensor.tables.io.files import ending


def run(arguments: argparse.Namespace) -> None:
    """Read the files, decide, write the people with their decisions, and print the rates of each group."""
    if ending(arguments.out) == NETCDF:
        raise InvalidOptionError(f"--out must end in .csv, .csv.gz or .parquet, got {arguments.out.name}")
    require_writable(arguments.out)
    records = _read(arguments.file, arguments)
    people = records if arguments.people is None else _read(arguments.people, arguments)
    predictors = _predictors(records, people, arguments)
    learned, asked = as_categories(records, people, predictors, arguments)
    if not (len(learned) and len(asked)):
        raise InvalidTableError("each row has a missing value: dropping them leaves nobody to learn from or decide for")
    model = _learned(learned, predictors, arguments)
    ids = None if arguments.ids is None else asked[arguments.ids].tolist()
    decided = pd.Series(model.predict(asked[predictors], ids=ids), index=asked.index)
    if len(asked) < len(people):  # as objects, so that whole numbers stay whole beside the gaps
        decided = decided.astype(object).reindex(people.index)
    write_frame(people.assign(**{arguments.name: decided}), arguments.out)
    show_facts("decisions", _facts(arguments, model, (len(records), len(learned)), (len(people), len(asked))))
    show_table(f"the rules, for the people of {arguments.file.name}; means where they draw", *_of_rules(model))
    told = asked.assign(**{arguments.name: decided.loc[asked.index]})
    show_table("these decisions: share of each group", *_of_people(told, arguments))


def _facts(
    arguments: argparse.Namespace, model: PURClassifier, learned: tuple[int, int], asked: tuple[int, int]
) -> dict[str, str]:
    """Return facts about the decisions; of rows there are all, and those without a missing value."""
    gaps = [
        f"{all_rows - rows:,} {what}"
        for (all_rows, rows), what in ((learned, "not learned from"), (asked, "without a decision"))
        if rows < all_rows
    ]
    return {
        "learned from": f"{learned[1]:,} records of {arguments.file.name}",
        "decided for": f"{asked[1]:,} records of {(arguments.people or arguments.file).name}",
        "dropped": ", ".join(gaps),
        "smoothed": "" if model.smoothed_ is None else smoothed_in_words(model.smoothed_),
        "rule": arguments.decision,
        "gap": model.decisions_.summary()["gap"],
        "written to": f"{arguments.out}, column {arguments.name}",
    }


def _read(path: Path, arguments: argparse.Namespace) -> pd.DataFrame:
    frame = read_frame(path, arguments)
    if COUNT in frame and arguments.weights != COUNT:
        raise InvalidOptionError(
            f"{path.name} has a column {COUNT!r}: each row must be one person to decide about, not several"
        )
    if not len(frame):
        raise InvalidTableError(f"{path.name} has no row: there is nobody to fit to or to decide about")
    return frame


def _learned(records: pd.DataFrame, predictors: list[str], arguments: argparse.Namespace) -> PURClassifier:
    model = PURClassifier(
        arguments.protected,
        conditions=arguments.conditions,
        strength=arguments.strength,
        reference=arguments.reference,
        unseen=arguments.unseen,
        decision=arguments.decision,
        rate=_rates(arguments.rate, records[arguments.response]),
        random_state=arguments.seed,
    )
    weights = None if arguments.weights is None else records[arguments.weights]
    try:
        return model.fit(records[predictors], records[arguments.response], weights)
    except ValueError as error:  # scikit-learn's, of responses that are not categories
        if isinstance(error, PurtensorError):
            raise
        raise InvalidTableError(f"{arguments.file.name}: {error}") from None


def _predictors(records: pd.DataFrame, people: pd.DataFrame, arguments: argparse.Namespace) -> list[str]:
    """Return the columns to decide by, which both files have."""
    asked = [arguments.response, *arguments.protected, *(arguments.unprotected or ())]
    asked += [name for name in (arguments.weights, arguments.ids) if name is not None and arguments.people is None]
    for name in asked:
        if name not in records:
            raise UnknownAttributeError.among(name, list(records.columns), where=arguments.file.name)
    others = arguments.unprotected
    if others is None:
        no_predictors = (arguments.response, arguments.weights, arguments.ids, *arguments.protected)
        others = [name for name in records.columns if name not in no_predictors]
    predictors = [*arguments.protected, *others]
    for name in [*predictors, *([arguments.ids] if arguments.ids else [])]:
        if name not in people:
            raise UnknownAttributeError.among(
                name, list(people.columns), where=(arguments.people or arguments.file).name
            )
    if arguments.name in people:
        raise InvalidOptionError(f"the people already have a column {arguments.name!r}: choose another --name")
    return predictors


def _rates(words: Sequence[str] | None, responses: pd.Series) -> Mapping[object, float] | None:
    """Return the rates in words like yes=0.2, by the categories that they name."""
    if words is None:
        return None
    # words are text, which the categories need not be
    categories = {str(category): category for category in responses.unique()}
    rates = {}
    for word in words:
        name, equals, share = word.rpartition("=")
        if not equals:
            raise InvalidOptionError(f"--rate must be written as no=0.8 yes=0.2, got {word!r}")
        if name not in categories:
            raise UnknownCategoryError(
                f"no category {name!r} in {responses.name}; it has {listed(sorted(categories), 20)}"
            )
        try:
            rates[categories[name]] = float(share)
        except ValueError:
            raise InvalidOptionError(f"--rate must be written as no=0.8 yes=0.2, got {word!r}") from None
    return rates


def _of_rules(model: PURClassifier) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Return for each rule what each group gets and how often that is right, on the people that were learned from."""
    roles: dict[str, Any] = {"response": model.response_, "protected": model.protected_}
    rows: list[tuple[str, ...]] = []
    groups: list[str] = []
    for rule in RULES:
        rate = model.rate if rule == "fair" else None
        found = decide(model.projection_.table, model.table_, rule=rule, rate=rate, unseen="marginal", **roles)
        rates = rates_by_group(found.table, **roles)
        right = accuracy(found.table, model.table_, response=model.response_)
        groups = [str(group) for group in rates.index]
        rows += [(rule, *line, f"{right:.3f}") for line in _lines(rates)]
    return ("rule", model.response_, *groups, "smallest / largest", "accuracy"), rows


def _of_people(written: pd.DataFrame, arguments: argparse.Namespace) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Return what each group got, and how often that was right where the people have a response."""
    shares = pd.crosstab([written[name] for name in arguments.protected], written[arguments.name], normalize="index")
    groups = [", ".join(map(str, label if isinstance(label, tuple) else (label,))) for label in shares.index]
    right = ""
    if arguments.response in written:
        right = f"{(written[arguments.response] == written[arguments.name]).mean():.3f}"
    columns = (arguments.response, *groups, "smallest / largest", "accuracy")
    return columns, [(*line, right) for line in _lines(shares)]


def _lines(rates: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return a line per category: its name, its share in each group, and the smallest share over the largest."""
    ratios = smallest_ratios(rates)
    return [
        (str(category), *(f"{share:.3f}" for share in rates[category]), f"{ratios[category]:.3f}")
        for category in rates.columns
    ]
