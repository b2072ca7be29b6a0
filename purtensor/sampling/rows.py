"""Fair rows: individuals drawn from a result, each with all the columns of a record that is like it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from purtensor._typing import IntArray
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.records.weights import coded_result, design_weights, in_memory, profile_rows
from purtensor.sampling.checks import generator, whole_size
from purtensor.sampling.draw import multinomial
from purtensor.sampling.splitting import canonical_order
from purtensor.tables.coded import CodedTable
from purtensor.tables.grouping import group_profiles


def draw_rows(
    records: Any,
    result: Any,
    size: int,
    *,
    seed: int | np.random.Generator,
    response: str | None = None,
    weights: Any = None,
    missing: str = "raise",
) -> Any:
    """Return rows drawn from a result, with the columns that the records came with.

    How many rows each profile gets is one multinomial draw from the result, as `sample` makes it. Each row is then a
    copy of a record of its profile, drawn in proportion to the weights, so that what is no attribute (or was binned)
    comes along. A profile that no record has takes a record that differs from it in the response alone, and the
    response is put in its place.

    Parameters
    ----------
    records, result, weights, missing
        As in `purtensor.weights`.
    size
        How many rows.
    seed
        A non-negative integer, or a numpy Generator.
    response
        The attribute that may be replaced where no record has a profile.

    Returns
    -------
    frame
        In the library of the records; pandas for a dict. The column of the weights, if it is one, is left out: each
        row is one individual.

    Raises
    ------
    InvalidOptionError
        A size or seed that is not a count.
    InvalidTableError
        A profile was drawn that no record has, nor one that differs in the response alone.
    PurtensorError
        As `purtensor.weights`.

    Examples
    --------
    >>> import purtensor as pt
    >>> from purtensor.sampling.rows import draw_rows
    >>> people = {"hired": ["no", "no", "yes", "yes"], "sex": ["f", "f", "f", "m"]}
    >>> people["name"] = ["Ann", "Eve", "Ida", "Max"]
    >>> counts = pt.regularize(pt.tabulate(people, ["hired", "sex"]), response="hired")
    >>> fair = pt.project(counts, pt.pur(counts, response="hired", protected="sex"))
    >>> draw_rows(people, fair, 3, seed=1, response="hired")
      hired sex name
    0   yes   f  Ida
    1   yes   f  Ida
    2    no   m  Max
    """
    number, rng = whole_size(size), generator(seed)
    if not number:
        raise InvalidOptionError("size must be 1 or more, got 0")
    coded, records = coded_result(result), in_memory(records)
    own = profile_rows(records, coded, missing=missing)
    design = design_weights(records, weights, len(own))
    order = canonical_order(coded)
    drawn = np.zeros(len(coded.values), dtype=np.int64)
    drawn[order] = multinomial(coded.values[order], number, rng)
    donors, profiles = _donors(coded, own, design, drawn, response, rng)
    frame = _frame(records)
    if isinstance(weights, str):
        frame = frame.drop(columns=weights)
    taken = frame.iloc[donors].reset_index(drop=True)
    if response is not None:
        taken[response] = _responses(taken[response], coded, response, own[donors], profiles)
    return _in_library(taken, records)


def _donors(
    coded: CodedTable, own: IntArray, design: Any, drawn: IntArray, response: str | None, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return the record that each drawn row copies, and the profile of the row."""
    rest = _without(coded, response)
    donors, profiles = [], []
    by_profile = _members(own, len(coded.values))
    by_rest = _members(np.append(rest, -1)[own], int(rest.max()) + 1) if response is not None else []
    for profile in np.flatnonzero(drawn).tolist():
        members = by_profile[profile]
        if not design[members].sum() > 0 and response is not None:
            members = by_rest[rest[profile]]
        masses = design[members]
        if not masses.sum() > 0:
            raise InvalidTableError(
                f"no record is like the profile ({coded.describe(profile)}), of which {drawn[profile]} rows were "
                "drawn: draw from the table alone with purtensor.sample and purtensor.to_records"
            )
        donors.append(rng.choice(members, drawn[profile], p=masses / masses.sum()))
        profiles.append(np.full(drawn[profile], profile))
    shuffled = rng.permutation(int(drawn.sum()))
    return np.concatenate(donors)[shuffled], np.concatenate(profiles)[shuffled]


def _without(coded: CodedTable, response: str | None) -> IntArray:
    """Return a number for what each profile has beside the response."""
    names = [name for name in coded.domain.attributes if name != response]
    if not names:
        return np.zeros(len(coded.values), dtype=np.int64)
    return group_profiles(coded.columns(names), coded.domain.select(names).sizes)[0]


def _members(groups: IntArray, count: int) -> list[IntArray]:
    """Return the places of each group, those of -1 left out."""
    order = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[order], np.arange(count + 1))
    return [order[ends[k] : ends[k + 1]] for k in range(count)]


def _responses(column: pd.Series[Any], coded: CodedTable, response: str, was: IntArray, drawn: IntArray) -> Any:
    """Return the column with the responses of the drawn profiles, where the copied record has another."""
    replaced = np.flatnonzero(was != drawn)
    if not len(replaced):
        return column
    place = coded.domain.position(response)
    labels = coded.domain.categories[place]
    values = column.astype(object).to_numpy().copy()
    values[replaced] = labels.to_numpy(dtype=object)[coded.codes[place][drawn[replaced]]]
    made = pd.Series(values, index=column.index, name=column.name)
    return made.astype(column.dtype) if isinstance(column.dtype, pd.CategoricalDtype) else made.infer_objects()


def _frame(records: Any) -> pd.DataFrame:
    if isinstance(records, Mapping):
        return pd.DataFrame({name: np.asarray(column) for name, column in records.items()})
    frame = nw.from_native(records)
    return (frame.collect() if isinstance(frame, nw.LazyFrame) else frame).to_pandas()


def _in_library(frame: pd.DataFrame, records: Any) -> Any:
    native = nw.from_native(records, pass_through=True)
    if (
        isinstance(records, Mapping)
        or not isinstance(native, nw.DataFrame)
        or isinstance(native.to_native(), pd.DataFrame)
    ):
        return frame
    columns = {str(name): frame[name].tolist() for name in frame}
    made = nw.from_dict(columns, backend=native.implementation)
    return made.to_native()
