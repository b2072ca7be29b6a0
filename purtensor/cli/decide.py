"""`purtensor decide`: decisions about the people of the user's own file, and how fair and how right they are."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

import purtensor as pt
from purtensor._typing import FloatArray
from purtensor.cli.output import require_frame, show_facts, show_table, write_frame
from purtensor.cli.question import describe_smoothing
from purtensor.cli.records import bins_typed, label_bins, read_frame
from purtensor.fairness.decisions import RULES, decide
from purtensor.fairness.rates import accuracy, rates_by_group, smallest_ratios
from purtensor.records.bins import BinSpec, make_bins, numbers_to_bin
from purtensor.records.tabulate import COUNT
from purtensor.sklearn.classifier import PURClassifier
from purtensor.sklearn.columns import has_fractions, is_numeric, numbers
from purtensor.tables.domain import join_some
from purtensor.tables.labels import MISSING_CATEGORY, label_text


def run(arguments: argparse.Namespace) -> None:
    """Read the files, decide, write the people with their decisions, and print the rates of each group."""
    require_frame(arguments.out, "--out")
    records = _read_people(arguments.file, arguments)
    people = records if arguments.people is None else _read_people(arguments.people, arguments)
    predictors = _predictors(records, people, arguments)
    learned, asked = as_categories(records, people, predictors, arguments)
    if not (len(learned) and len(asked)):
        raise pt.InvalidTableError(
            "each row has a missing value: dropping them leaves nobody to learn from or decide for"
        )
    model = _fit_model(learned, predictors, arguments)
    ids = None if arguments.ids is None else asked[arguments.ids].tolist()
    decided = pd.Series(model.predict(asked[predictors], ids=ids), index=asked.index)
    if len(asked) < len(people):  # as objects, so that whole numbers stay whole beside the gaps
        decided = decided.astype(object).reindex(people.index)
    write_frame(people.assign(**{arguments.name: decided}), arguments.out)
    show_facts("decisions", _facts(arguments, model, (len(records), len(learned)), (len(people), len(asked))))
    show_table(f"the rules, for the people of {arguments.file.name}; means where they draw", *_list_rules(model))
    people_decided = asked.assign(**{arguments.name: decided.loc[asked.index]})
    show_table("these decisions: share of each group", *_list_groups(people_decided, arguments))


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
        "smoothed": "" if model.smoothed_ is None else describe_smoothing(model.smoothed_),
        "rule": arguments.decision,
        "gap": model.decisions_.summary()["gap"],
        "written to": f"{arguments.out}, column {arguments.name}",
    }


def _read_people(path: Path, arguments: argparse.Namespace) -> pd.DataFrame:
    frame = read_frame(path, arguments)
    if COUNT in frame and arguments.weights != COUNT:
        raise pt.InvalidOptionError(
            f"{path.name} has a column {COUNT!r}: each row must be one person to decide about, not several"
        )
    if not len(frame):
        raise pt.InvalidTableError(f"{path.name} has no row: there is nobody to fit to or to decide about")
    return frame


def _fit_model(records: pd.DataFrame, predictors: list[str], arguments: argparse.Namespace) -> PURClassifier:
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
        if isinstance(error, pt.PurtensorError):
            raise
        raise pt.InvalidTableError(f"{arguments.file.name}: {error}") from None


def _predictors(records: pd.DataFrame, people: pd.DataFrame, arguments: argparse.Namespace) -> list[str]:
    """Return the columns to decide by, which both files have."""
    asked = [arguments.response, *arguments.protected, *(arguments.unprotected or ())]
    # other people need neither weights nor ids of the file that is learned from
    asked += [name for name in (arguments.weights, arguments.ids) if name is not None and arguments.people is None]
    for name in asked:
        if name not in records:
            raise pt.UnknownAttributeError.among(name, list(records.columns), where=arguments.file.name)
    others = arguments.unprotected
    if others is None:
        no_predictors = (arguments.response, arguments.weights, arguments.ids, *arguments.protected)
        others = [name for name in records.columns if name not in no_predictors]
    predictors = [*arguments.protected, *others]
    for name in [*predictors, *([arguments.ids] if arguments.ids else [])]:
        if name not in people:
            raise pt.UnknownAttributeError.among(
                name, list(people.columns), where=(arguments.people or arguments.file).name
            )
    if arguments.name in people:
        raise pt.InvalidOptionError(f"the people already have a column {arguments.name!r}: choose another --name")
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
            raise pt.InvalidOptionError(f"--rate must be written as no=0.8 yes=0.2, got {word!r}")
        if name not in categories:
            raise pt.UnknownCategoryError(
                f"no category {name!r} in {responses.name}; it has {join_some(sorted(categories), 20)}"
            )
        try:
            rates[categories[name]] = float(share)
        except ValueError:
            raise pt.InvalidOptionError(f"--rate must be written as no=0.8 yes=0.2, got {word!r}") from None
    return rates


def _list_rules(model: PURClassifier) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Return for each rule what each group gets and how often that is right, on the people that were learned from."""
    roles: dict[str, Any] = {"response": model.response_, "protected": model.protected_}
    rows: list[tuple[str, ...]] = []
    groups: list[str] = []
    for rule in RULES:
        # other rules have no rates to be told
        rate = model.rate if rule == "fair" else None
        found = decide(model.projection_.table, model.table_, rule=rule, rate=rate, unseen="marginal", **roles)
        rates = rates_by_group(found.table, **roles)
        right = accuracy(found.table, model.table_, response=model.response_)
        groups = [str(group) for group in rates.index]
        rows += [(rule, *line, f"{right:.3f}") for line in _lines(rates)]
    return ("rule", model.response_, *groups, "smallest / largest", "accuracy"), rows


def _list_groups(written: pd.DataFrame, arguments: argparse.Namespace) -> tuple[Sequence[str], list[tuple[str, ...]]]:
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


MISSING_REMEDY = "give --missing drop to leave such rows out, or --missing category to make a category of them"


def as_categories(
    records: pd.DataFrame, people: pd.DataFrame, predictors: Sequence[str], arguments: argparse.Namespace
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows to learn from and those to decide for, with the columns that are decided by as categories.

    Bins by quantiles are those of the records. A row that is dropped for a missing value is in neither.

    Raises
    ------
    UnknownAttributeError
        A column to bin that is not decided by.
    InvalidTableError
        A missing value under "raise", one of the response, a category "missing" beside missing values, or a column to
        bin that has no numbers.
    """
    response, bins = arguments.response, bins_typed(arguments.bins)
    for name in bins:
        if name not in (response, *predictors):
            raise pt.UnknownAttributeError.among(name, [response, *predictors], "the set of columns to decide by")
    # the people are written as they came: bins are for the model alone
    learned, asked = records.copy(), people.copy()
    masses = np.ones(len(records)) if arguments.weights is None else records[arguments.weights].to_numpy(np.float64)
    for name in (response, *predictors):
        _to_categories(name, [learned, asked] if name in asked else [learned], bins.get(name), masses)
    files = (arguments.file.name, (arguments.people or arguments.file).name)
    learned = _without_gaps(learned, [response], files[0], "drop" if arguments.missing == "drop" else "refuse")
    return (
        _without_gaps(learned, predictors, files[0], arguments.missing),
        _without_gaps(asked, predictors, files[1], arguments.missing),
    )


def _to_categories(name: str, frames: list[pd.DataFrame], spec: BinSpec | None, masses: FloatArray) -> None:
    """Bin a column of the frames in place, by its numbers in the first; write it as text where it has gaps."""
    columns = [nw.from_native(frame[name], series_only=True) for frame in frames]
    gaps = any(frame[name].isna().any() for frame in frames)
    if spec is None and gaps and is_numeric(columns[0]) and has_fractions(numbers(columns[0])):
        spec = "quantiles:5"  # as the classifier bins fractions that have no gaps
    if spec is not None:
        binned = [numbers_to_bin(column, name) for column in columns]
        bins = make_bins(spec, name, binned[0], masses)
        for frame, values in zip(frames, binned, strict=True):
            frame[name] = label_bins(bins, values, frame.index)
    elif gaps:
        for frame in frames:
            frame[name] = frame[name].map(_text, na_action="ignore").astype(object)


def _text(value: object) -> str:
    """Return a category as text; whole numbers with gaps come as floats, and are whole again."""
    return label_text(int(value) if isinstance(value, float) and value.is_integer() else value)


def _without_gaps(frame: pd.DataFrame, names: Sequence[str], file: str, missing: str) -> pd.DataFrame:
    """Return rows without missing values in some columns: refused, dropped, or made a category."""
    if missing == "drop":
        return frame.dropna(subset=list(names))
    for name in names:
        gaps = np.flatnonzero(frame[name].isna())
        if not len(gaps):
            continue
        if missing != "category":
            remedy = MISSING_REMEDY if missing == "raise" else "give --missing drop, to learn nothing from such rows"
            gap = f"{file} has no {name} in {len(gaps):,} of {len(frame):,} rows, first in row {gaps[0] + 1}"
            raise pt.InvalidTableError(f"{gap}; {remedy}", code="missing-values", where=gap, hint=remedy)
        if MISSING_CATEGORY in set(frame[name].dropna()):
            raise pt.InvalidTableError(
                f"{file} has a category {MISSING_CATEGORY!r} in {name} beside missing values; rename it first"
            )
        frame = frame.assign(**{name: frame[name].fillna(MISSING_CATEGORY)})
    return frame
