"""A table as a dataset of plain arrays, in either layout, and back."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import FileFormatError, InvalidTableError
from purtensor.tables.coded import dense_table, domain_of, is_sparse, read_codes, require_distinct, sparse_table
from purtensor.tables.domain import PROFILE, Domain, check_attribute
from purtensor.tables.grouping import smallest_unsigned
from purtensor.tables.labels import check_text, decode_labels, encode_labels
from purtensor.tables.masses import are_probabilities

# numpy's kinds: booleans, integers without and with a sign, floats
_NUMBERS = "buif"


def value_column(values: FloatArray) -> str:
    """Return what the values of a table are called in files: count, probability, or value for what is not a mass.

    They are probabilities when they sum to 1 and are not all whole, counts otherwise.
    """
    if not (np.isfinite(values).all() and (values >= 0).all()):
        return "value"
    return "probability" if are_probabilities(values, float(values.sum())) else "count"


def table_to_dataset(table: Table, prefix: str = "") -> xr.Dataset:
    """Return a table as a dataset: its values, the category code of each profile, and the labels of each attribute.

    The names of all variables and dimensions begin with `prefix`, so that several tables go into one dataset. What
    a variable is, its own attributes say; the names are for readers.

    Raises
    ------
    InvalidTableError
        Values that are not numbers, or labels, names or entries of `attrs` that no file holds.
    """
    domain = domain_of(table)
    sparse = is_sparse(table)
    values = storable_values(table)
    names = _free_names(prefix, [value_column(values.reshape(-1)), PROFILE, *domain.attributes])
    value_name, profile_name, *attribute_names = names
    marks = {"table": prefix}
    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {}
    for k, (attribute, categories) in enumerate(zip(domain.attributes, domain.categories, strict=True)):
        check_text(attribute, "the attribute")
        labels, kind = encode_labels(categories)
        facts = {**marks, "role": "categories", "attribute": attribute, "position": k, "kind": kind}
        coordinates[attribute_names[k]] = (attribute_names[k], labels, facts)
    if sparse:
        code_names = _free_names(prefix, [f"code of {name}" for name in domain.attributes], names)
        codes = read_codes(table, domain)
        for k, (code, size) in enumerate(zip(codes, domain.sizes, strict=True)):
            facts = {**marks, "role": "codes", "attribute": domain.attributes[k]}
            variables[code_names[k]] = (profile_name, code.astype(smallest_unsigned(size)), facts)
    facts = {
        **marks,
        "role": "values",
        "layout": "sparse" if sparse else "dense",
        "table_name": as_json(table.name, "the name of the table"),
        "table_attrs": as_json(dict(table.attrs), "attrs"),
    }
    variables[value_name] = (profile_name if sparse else attribute_names, values, facts)
    return xr.Dataset(variables, coords=coordinates)


def storable_values(table: Table) -> npt.NDArray[Any]:
    """Return the values of a table in a type that files hold: of this machine's byte order, floats of 32 or 64 bits.

    Raises
    ------
    InvalidTableError
        They are not numbers, or have more digits than float64.
    """
    values = np.asarray(table.values)
    if values.dtype.kind not in _NUMBERS:
        raise InvalidTableError(f"the values of a table must be integers or floats, got {values.dtype}")
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        raise InvalidTableError(f"values of {values.dtype} cannot be saved; convert them to float64 with astype")
    # NetCDF has no floats of 16 bits; 32 hold them exactly
    return values.astype(np.float32 if values.dtype == np.float16 else values.dtype.newbyteorder("="), copy=False)


def dataset_to_table(dataset: xr.Dataset, prefix: str = "") -> Table:
    """Return the table that `table_to_dataset` wrote under `prefix`.

    Raises
    ------
    FileFormatError
        The dataset has no such table, or its parts do not fit together.
    """
    try:
        return _assemble(dataset, prefix)
    except (InvalidTableError, KeyError, IndexError, TypeError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"the parts of the table are inconsistent: {error}") from error


def _assemble(dataset: xr.Dataset, prefix: str) -> Table:
    # by their attributes: names may have been changed to what NetCDF allows
    ours = [v for v in dataset.variables.values() if v.attrs.get("table") == prefix]
    values = [v for v in ours if v.attrs.get("role") == "values"]
    if len(values) != 1:
        raise FileFormatError(
            f"there is no table {prefix!r} among the variables {', '.join(map(str, dataset)) or 'none'}"
        )
    if values[0].dtype.kind not in _NUMBERS:
        raise FileFormatError(f"the values of the table are {values[0].dtype}, but numbers were expected")
    header = values[0].attrs
    tables = sorted((v for v in ours if v.attrs.get("role") == "categories"), key=lambda v: int(v.attrs["position"]))
    domain = Domain(
        tuple(str(v.attrs["attribute"]) for v in tables),
        tuple(decode_labels(np.asarray(v.values), str(v.attrs["kind"])) for v in tables),
    )
    for attribute, categories in zip(domain.attributes, domain.categories, strict=True):
        check_attribute(attribute, categories)
    rest = {"name": json.loads(header["table_name"]), "attrs": json.loads(header["table_attrs"])}
    if header["layout"] == "dense":
        # other programs may have transposed the values
        order = [values[0].dims.index(v.dims[0]) for v in tables]
        return dense_table(domain, np.asarray(values[0].values).transpose(order), **rest)
    coded = {str(v.attrs["attribute"]): v for v in ours if v.attrs.get("role") == "codes"}
    codes = tuple(
        _check_codes(coded[name].values, len(values[0].values), size)
        for name, size in zip(domain.attributes, domain.sizes, strict=True)
    )
    require_distinct(domain, codes, lambda *_: FileFormatError("a profile is stored twice"))
    return sparse_table(domain, codes, np.asarray(values[0].values), **rest)


def _check_codes(codes: Any, profiles: int, size: int) -> IntArray:
    array = np.asarray(codes)
    if array.shape != (profiles,) or array.dtype.kind != "u" or (profiles and int(array.max()) >= size):
        raise FileFormatError("the category codes exceed the number of labels")
    return array.astype(np.int64)


def _free_names(prefix: str, wanted: list[str], taken: list[str] | None = None) -> list[str]:
    """Return names as NetCDF allows them, all different."""
    names: list[str] = []
    for text in wanted:
        # normalised here, as the NetCDF library does it anyway, and might make two names one
        name = re.sub(r"[^\w .()+:-]", "_", unicodedata.normalize("NFC", f"{prefix}{text}")).strip()
        name = name if re.match(r"\w", name) else f"_{name}"
        while name in names or name in (taken or ()):
            name += "_"
        names.append(name)
    return names


def as_json(value: Any, what: str) -> str:
    """Return numbers, text and lists of them as JSON; `what` names them in the refusal of anything else."""
    try:
        return json.dumps(value, default=_plain_number)
    except (TypeError, ValueError) as error:
        raise InvalidTableError(
            f"{what} cannot be saved: {error}; use numbers, text and lists of them, or remove it"
        ) from None


def _plain_number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, pd.Index | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__qualname__} is not a number, text or list")
