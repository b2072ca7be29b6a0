"""The natural classifier: a distribution's own conditional, applied to a population."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast, overload

import numpy as np

from purtensor._options import check_choice
from purtensor._typing import BoolArray, FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError, UnknownAttributeError, UnknownCategoryError
from purtensor.kernels.reductions import group_sums
from purtensor.tables.coded import CodedTable, encode, is_sparse, like_sorted, sparse_table
from purtensor.tables.domain import Domain, as_attributes, describe_profile
from purtensor.tables.marginal import marginal, marginalize
from purtensor.tables.masses import exact_sum
from purtensor.tables.memory import require_memory
from purtensor.tables.store.pairs import ROWS_AT_ONCE, Read, hash_rows
from purtensor.tables.store.table import StoredTable, match_stored, require_mass
from purtensor.tables.store.write import TableWriter
from purtensor.tables.translate import category_map, find_profiles, translate_codes

_UNSEEN = ("raise", "marginal", "drop")


@overload
def predict(q: Table | StoredTable, test: Table, *, response: str, unseen: str = "raise") -> Table: ...
@overload
def predict(q: Table | StoredTable, test: StoredTable, *, response: str, unseen: str = "raise") -> StoredTable: ...
def predict(
    q: Table | StoredTable, test: Table | StoredTable, *, response: str, unseen: str = "raise"
) -> Table | StoredTable:
    """Return the prediction of the natural classifier for a population: q(y | s, x) times the mass of (s, x) in `test`.

    The prediction has the units and the layout of `test`, and the attributes of q in their order. Its `attrs` contain
    `unseen_mass` and `unseen_profiles`, the mass and the number of the predictor profiles of `test` without mass in q.

    Parameters
    ----------
    q
        A distribution over the response and the predictors, such as a projection. Of a stored table only the profiles
        that occur in `test` are read into memory.
    test
        Counts or probabilities over the predictors of q, with or without the response, which is summed out. The
        prediction for a stored table is a stored table in its workspace, written part by part, without `attrs`.
    response
        The name of the attribute to predict.
    unseen
        The treatment of predictor profiles without mass in q: "raise" an error, "marginal" (predict by q(y), which
        preserves parity), or "drop" (omit them, so that the total of the prediction decreases by their mass).

    Raises
    ------
    UnknownAttributeError
        The tables have different predictors, or q has no such response.
    UnknownCategoryError
        q does not know a predictor profile or category of `test`, with `unseen="raise"`.
    InvalidOptionError
        An invalid `unseen`, or no predictor.
    TooLargeError
        The dense prediction exceeds the available memory.

    Examples
    --------
    >>> import purtensor as pt
    >>> q = pt.tabulate({"hired": ["no", "yes", "yes"], "sex": ["f", "f", "m"]}, weights=[3, 1, 1])
    >>> people = pt.tabulate({"sex": ["f", "m"]}, weights=[40, 60])
    >>> pt.predict(q, people, response="hired").to_series().to_dict()
    {('no', 'f'): 30.0, ('yes', 'f'): 10.0, ('yes', 'm'): 60.0}
    """
    check_choice("unseen", unseen, _UNSEEN)
    if not isinstance(q, StoredTable) and not isinstance(test, StoredTable):
        return _predict_in_memory(q, test, response, unseen)
    predictors = _predictors(Read(q).domain, Read(test).domain, response)
    # q(y) is of all of q; a share of its profiles has another one
    responses = marginal(q, response) if unseen == "marginal" else None
    if isinstance(test, StoredTable):
        shares = _read_shares(q, test, predictors)
        return _write_prediction((_predict_in_memory(*pair, response, unseen, responses) for pair in shares), test)
    return _predict_in_memory(match_stored(cast(StoredTable, q), test, predictors), test, response, unseen, responses)


def _predict_in_memory(q: Table, test: Table, response: str, unseen: str, responses: Table | None = None) -> Table:
    """Return the prediction of tables in memory; `responses` is q(y) where q is a part of the whole."""
    # a share of a q on disk may be without mass
    model, population = encode(q, allow_empty=True), encode(test)
    predictors = _predictors(model.domain, population.domain, response)
    pairing = _pair(model, population, predictors)
    if unseen == "raise" and pairing.unseen.any():
        _refuse(pairing, model)
    # what is unseen and neither refused nor predicted is dropped
    codes, values = _predict_known(model, pairing, response)
    if unseen == "marginal":
        extra_codes, extra = _predict_unseen(model if responses is None else encode(responses), pairing, response)
        codes = [np.concatenate(both) for both in zip(codes, extra_codes, strict=True)]
        values = np.concatenate([values, extra])
    attrs: dict[str, Any] = {
        "unseen_mass": exact_sum(pairing.masses[pairing.unseen]),
        "unseen_profiles": int(pairing.unseen.sum()),
    }
    return _assemble(model, population, pairing.domain, response, codes, values, attrs)


@dataclass(frozen=True, slots=True, eq=False)
class _Pairing:
    """The predictor profiles of the population, and where the profiles of the model belong among them.

    Attributes
    ----------
    domain, codes, masses
        Of the population's predictor profiles.
    rows, place
        The profiles of the model on one of them, and on which.
    model_masses
        The mass of each of them in the model, 0 where it is unseen.
    """

    domain: Domain
    codes: tuple[IntArray, ...]
    masses: FloatArray
    rows: IntArray
    place: IntArray
    model_masses: FloatArray

    @property
    def unseen(self) -> BoolArray:
        return np.asarray(self.model_masses == 0)


def _predictors(model: Domain, population: Domain, response: str) -> tuple[str, ...]:
    if not isinstance(response, str):
        raise InvalidOptionError(f"response must be the name of one attribute, got {response!r}")
    as_attributes(response, model)
    predictors = tuple(name for name in model.attributes if name != response)
    if not predictors:
        raise InvalidOptionError(f"q is over {response!r} only; a prediction needs at least one predictor")
    for name in predictors:
        if name not in population.attributes:
            raise UnknownAttributeError.among(name, population.attributes, "test")
    for name in population.attributes:
        if name != response and name not in predictors:
            raise UnknownAttributeError.among(name, model.attributes, "q")
    return predictors


def _pair(model: CodedTable, population: CodedTable, predictors: tuple[str, ...]) -> _Pairing:
    domain, codes, masses = marginalize(population, predictors)
    # profiles of the model on none of the population's have no people to predict
    found = find_profiles(codes, translate_codes(model, domain))
    rows = np.flatnonzero(found >= 0)
    return _Pairing(domain, codes, masses, rows, found[rows], group_sums(model.values[rows], found[rows], len(masses)))


def _predict_known(model: CodedTable, pairing: _Pairing, response: str) -> tuple[list[IntArray], FloatArray]:
    """Return response and predictor codes, and masses, of the prediction where q has a conditional."""
    (y,) = model.columns([response])
    conditional = model.values[pairing.rows] / pairing.model_masses[pairing.place]
    codes = [y[pairing.rows], *(column[pairing.place] for column in pairing.codes)]
    return codes, conditional * pairing.masses[pairing.place]


def _predict_unseen(model: CodedTable, pairing: _Pairing, response: str) -> tuple[list[IntArray], FloatArray]:
    """Return response and predictor codes, and masses q(y) times the population's, of the unseen profiles."""
    _, (y,), of_y = marginalize(model, (response,))
    rows = np.flatnonzero(pairing.unseen)
    codes = [np.repeat(y, len(rows)), *(np.tile(column[rows], len(y)) for column in pairing.codes)]
    return codes, np.outer(of_y / exact_sum(of_y), pairing.masses[rows]).reshape(-1)


def _assemble(
    model: CodedTable,
    population: CodedTable,
    predictors: Domain,
    response: str,
    codes: list[IntArray],
    values: FloatArray,
    attrs: dict[str, Any],
) -> Table:
    """Return the prediction in the order of q's attributes, its profiles in category order."""
    names = (response, *predictors.attributes)
    categories = (model.domain.select([response]).categories[0], *predictors.categories)
    order = [names.index(name) for name in model.domain.attributes]
    domain = Domain(model.domain.attributes, tuple(categories[i] for i in order))
    if not is_sparse(population.template):
        require_memory(8 * domain.size, f"a dense prediction of {domain.size} profiles", "give test as a sparse table")
    ordered = [codes[i] for i in order]
    return like_sorted(population.template, domain, ordered, values, name="prediction", attrs=attrs)


def _refuse(pairing: _Pairing, model: CodedTable) -> NoReturn:
    unseen = np.flatnonzero(pairing.unseen)
    share = exact_sum(pairing.masses[unseen]) / exact_sum(pairing.masses)
    extent = (
        f"{len(unseen)} of {len(pairing.masses)} predictor profiles of test, {share:.3g} of its mass, are unknown to q"
    )
    advice = "use unseen='marginal' to predict them by q(y), or unseen='drop' to drop them"
    for name, categories, column in zip(
        pairing.domain.attributes, pairing.domain.categories, pairing.codes, strict=True
    ):
        known = category_map(categories, model.domain.categories[model.domain.position(name)])
        strange = column[unseen][known[column[unseen]] < 0]
        if len(strange):
            raise UnknownCategoryError(f"q does not list {name}={categories[strange[0]]}: {extent}; {advice}")
    first = describe_profile(pairing.domain, [column[unseen[0]] for column in pairing.codes])
    raise UnknownCategoryError(f"q has no mass at ({first}): {extent}; {advice}")


def _read_shares(q: Table | StoredTable, test: StoredTable, predictors: Sequence[str]) -> Iterator[tuple[Table, Table]]:
    """Yield q and test on the predictor profiles of one share of them all, in memory, together all of test.

    Raises
    ------
    InvalidTableError
        One of them, on disk, has no mass.
    """
    for table in (q, test):
        if isinstance(table, StoredTable):
            require_mass(table)
    one, other = Read(q), Read(test)
    passes = max(1, -(-(one.profiles + other.profiles) // ROWS_AT_ONCE))
    for share in range(passes):
        people = _read_share(other, other.domain, predictors, passes, share)
        if people.size:
            yield _read_share(one, other.domain, predictors, passes, share), people


def _read_share(read: Read, onto: Domain, predictors: Sequence[str], passes: int, share: int) -> Table:
    """Return the profiles whose predictor profile, in the categories of `onto`, is of a share."""
    domain = read.domain
    maps = [category_map(domain.select([name]).categories[0], onto.select([name]).categories[0]) for name in predictors]
    where = [domain.position(name) for name in predictors]
    columns: list[Sequence[IntArray]] = []
    values: list[FloatArray] = []
    for codes, masses in read.pieces():
        # in the categories of `onto`, so that q and test put a predictor profile into the same share
        keys = hash_rows([mapping[codes[k]] for k, mapping in zip(where, maps, strict=True)])
        taken = keys % np.uint64(passes) == share
        columns.append([code[taken] for code in codes])
        values.append(masses[taken])
    joint = [np.concatenate(column) for column in zip(*columns, strict=True)]
    return sparse_table(domain, joint, np.concatenate(values))


def _write_prediction(pieces: Iterator[Table], test: StoredTable) -> StoredTable:
    """Return the predictions for shares of a population as one stored table, in its workspace."""
    # the domain is known from the first share, which is therefore computed before the store is opened
    test.workspace.mkdir(parents=True, exist_ok=True)
    writer: TableWriter | None = None
    try:
        for piece in pieces:
            coded = encode(piece, allow_empty=True)
            if writer is None:
                path = test.workspace / f"prediction-{secrets.token_hex(8)}.zarr"
                writer = TableWriter(path, coded.domain, chunk=test.chunk)
            writer.append(coded.codes, coded.values)
        if writer is None:
            raise AssertionError("unreachable: an empty population is refused before")
        return writer.close()
    except BaseException:
        # Ctrl-C too leaves no half-written table
        if writer is not None:
            writer.abandon()
        raise
