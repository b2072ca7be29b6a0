"""Fair rows: individuals drawn from a result, each with all the columns of a record that is like it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from purtensor._typing import IntArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.records.frames import frame_like
from purtensor.records.weights import design_weights, encode_result, in_memory, profile_rows
from purtensor.sampling.checks import generator, whole_counts, whole_size
from purtensor.sampling.draw import canonical_order, multinomial
from purtensor.tables.coded import CodedTable, encode
from purtensor.tables.grouping import group_profiles
from purtensor.tables.memory import require_memory


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
    copy of a record of its profile, drawn in proportion to the weights, so that what is not an attribute (or was
    binned) comes along. A profile that no record has takes a record that differs from it in the response alone, and
    the response is put in its place.

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
    coded, records = encode_result(result), in_memory(records)
    own = profile_rows(records, coded, missing=missing)
    design = design_weights(records, weights, len(own))
    order = canonical_order(coded)
    drawn = np.zeros(len(coded.values), dtype=np.int64)
    drawn[order] = multinomial(coded.values[order], number, rng)
    donors, profiles = _donors(coded, own, design, drawn, response, rng)
    taken = _frame(records)[donors]
    if isinstance(weights, str):
        taken = taken.drop(weights)
    if response is not None:
        answer = _responses(taken[response], coded, response, own[donors], profiles)
        taken = taken.with_columns(answer)
    made = taken.to_native()
    return made.reset_index(drop=True) if isinstance(made, pd.DataFrame) else made


def _donors(
    coded: CodedTable, own: IntArray, design: Any, drawn: IntArray, response: str | None, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return the record that each drawn row copies, and the profile of the row."""
    rest = _without(coded, response)
    donors, profiles = [], []
    by_profile = _members(own, len(coded.values))
    # own -1, a record outside of the support, reads the -1 at the end
    by_rest = _members(np.append(rest, -1)[own], int(rest.max()) + 1) if response is not None else []
    for profile in np.flatnonzero(drawn).tolist():
        members = by_profile[profile]
        if not design[members].sum() > 0 and response is not None:
            # nobody has this profile: someone who differs in the response alone is copied, and gets it
            members = by_rest[rest[profile]]
        masses = design[members]
        if not masses.sum() > 0:
            raise InvalidTableError(
                f"no record is like the profile ({coded.describe(profile)}), of which {drawn[profile]} rows were "
                "drawn: draw without records by purtensor.sample and purtensor.to_records"
            )
        donors.append(rng.choice(members, drawn[profile], p=masses / masses.sum()))
        profiles.append(np.full(drawn[profile], profile))
    # until here the rows stand profile by profile
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
    # those of -1 stand before the first end
    ends = np.searchsorted(groups[order], np.arange(count + 1))
    return [order[ends[k] : ends[k + 1]] for k in range(count)]


def _responses(column: nw.Series[Any], coded: CodedTable, response: str, was: IntArray, drawn: IntArray) -> Any:
    """Return the column with the responses of the drawn profiles, where the copied record has another."""
    replaced = np.flatnonzero(was != drawn)
    place = coded.domain.position(response)
    labels = coded.domain.categories[place].tolist()
    values = column.to_list()
    for k in replaced.tolist():
        values[k] = labels[coded.codes[place][drawn[k]]]
    if not len(replaced):
        return column
    if isinstance(native := column.to_native(), pd.Series):
        made = pd.Series(values, index=native.index, name=native.name)
        own = isinstance(native.dtype, pd.CategoricalDtype)
        return nw.from_native(made.astype(native.dtype) if own else made, series_only=True)
    return nw.new_series(column.name, values, column.dtype, backend=column.implementation)


def _frame(records: Any) -> nw.DataFrame[Any]:
    if isinstance(records, Mapping):
        records = pd.DataFrame({name: np.asarray(column) for name, column in records.items()})
    return nw.from_native(records, eager_only=True)


def to_records(counts: Table, like: Any = None) -> Any:
    """Return a data frame with one row for each individual that is counted, in the order of the profiles.

    Each attribute is a categorical column with the categories of the table in their order, also those that do not
    occur; `tabulate` gives the counts back.

    Parameters
    ----------
    like
        A frame, such as the one that was counted, in whose library the records come (of DuckDB in pyarrow's); pandas
        when None.

    Raises
    ------
    InvalidTableError
        A value that is not a whole number; the message names the profile.
    TooLargeError
        The frame would need more memory than there is.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "old"]})
    >>> pt.to_records(counts)
      sex  age
    0   f  old
    1   m  old
    2   m  old
    """
    coded = encode(counts, allow_empty=True)
    repeats = whole_counts(coded)
    rows = int(repeats.sum())
    # codes are signed in pandas, and these types hold -size
    smallest = [np.min_scalar_type(-max(size, 1)) for size in coded.domain.sizes]
    # the columns, and one more while it is made
    needed = rows * (sum(kind.itemsize for kind in smallest) + 8)
    require_memory(needed, f"a data frame of {rows} records", "draw fewer with purtensor.sample")
    columns = {
        name: pd.Categorical.from_codes(np.repeat(code.astype(kind), repeats), categories=categories)
        for name, code, kind, categories in zip(
            coded.domain.attributes, coded.codes, smallest, coded.domain.categories, strict=True
        )
    }
    return frame_like(pd.DataFrame(columns, copy=False), like)
