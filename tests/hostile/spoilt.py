"""Files that are sound as such and say something else than any writer of ours: other columns, types, descriptions."""

from __future__ import annotations

import gzip
import io
import json
import math
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xarray as xr

from purtensor.tables.io.netcdf import write_dataset
from tests.hostile.mutations import mutated


def spoilt_inside(random: Random, content: bytes, other: bytes) -> bytes:
    """A gzip file whose content is spoilt, or which is spoilt itself."""
    if random.random() < 0.5:
        return mutated(random, content, other)
    return gzip.compress(mutated(random, gzip.decompress(content), gzip.decompress(other)), 1)


def foreign_parquet(random: Random, content: bytes, other: bytes) -> bytes:
    """A Parquet file of random columns, as any program may write it, one in four of them spoilt."""
    size = random.choice((0, 1, 3, 3, 7))
    columns = [column(random, size) for _ in range(random.randint(1, 4))]
    names = random.sample(["y", "s", "x", "count", "probability", "value", "profile", "", "é", "count"], len(columns))
    schema = pa.schema([pa.field(name, array.type) for name, array in zip(names, columns)])
    buffer = io.BytesIO()
    compression = random.choice(("none", "snappy", "zstd", "gzip"))
    try:
        pq.write_table(pa.Table.from_arrays(columns, schema=schema), buffer, compression=compression)
    except (pa.ArrowException, ValueError):  # a type that Parquet does not have
        return content
    return mutated(random, buffer.getvalue(), content) if random.random() < 0.25 else buffer.getvalue()


CELLS: dict[str, tuple[Any, ...]] = {
    "string": ("a", "b", "", "NA", "=1+1", "\0"),
    "int64": (1, 2, -3, 2**53 + 1, 2**62),
    "uint64": (1, 2**64 - 1),
    "double": (0.5, 2.0, -1.0, math.nan, math.inf, 1e300),
    "bool": (True, False),
    "binary": (b"a", b"\xff"),
    "date32": (1, 2, 10**6),
    "timestamp": (0, 1, 10**15, -(10**18)),
    "halffloat": (np.float16(1), np.float16(2)),
    "null": (None,),
    "list": ([1], [], [2, 3]),
    "struct": ({"k": 1}, {"k": 2}),
    "decimal": (1, 2, 10**6),
    "duration": (1, 10**12),
    "time64": (1, 10**6),
    "int8": (1, -5),
}
TYPES = {
    "timestamp": lambda random: pa.timestamp(
        random.choice(("s", "us", "ns")), random.choice((None, "UTC", "Europe/Paris", "+01:00"))
    ),
    "list": lambda random: pa.list_(pa.int64()),
    "struct": lambda random: pa.struct([("k", pa.int64())]),
    "decimal": lambda random: pa.decimal128(20, random.choice((0, 3))),
    "duration": lambda random: pa.duration("us"),
    "time64": lambda random: pa.time64("us"),
}


def column(random: Random, size: int) -> Any:
    """Values of one type, some of them missing, perhaps as a dictionary."""
    name = random.choice(list(CELLS))
    kind = TYPES[name](random) if name in TYPES else pa.type_for_alias(name)
    gaps = random.random() < 0.2
    values = [None if gaps and random.random() < 0.3 else random.choice(CELLS[name]) for _ in range(size)]
    array = pa.array(values, type=kind)
    if name in ("string", "int64", "double") and random.random() < 0.3:
        array = array.dictionary_encode()
    return array


def retold_parquet(random: Random, content: bytes, other: bytes) -> bytes:
    """Our own Parquet file whose description says something else."""
    stored = pq.read_table(io.BytesIO(content))
    told = json.loads(stored.schema.metadata[b"purtensor"])
    text = json.dumps(retold(random, told)).encode()
    if random.random() < 0.2:
        text = mutated(random, text, text)
    buffer = io.BytesIO()
    pq.write_table(stored.replace_schema_metadata({b"purtensor": text}), buffer, write_page_checksum=True)
    return buffer.getvalue()


ODD = (
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    math.nan,
    "",
    "dense",
    "sparse",
    "y",
    "mixed",
    "int64",
    "boolean",
    "datetime64[ns]",
    "interval[int64, left]",
    "{",
    "[]",
    '{"a": 1}',
    [],
    [1],
    ["a", "a"],
    {},
    {"k": 1},
    "\0",
    "9" * 5000,
)


def retold(random: Random, value: Any) -> Any:
    """The value, or one of its parts, replaced or left out."""
    if random.random() < 0.15 or not isinstance(value, dict | list) or not value:
        return random.choice(ODD)
    k = random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value))
    changed = dict(value) if isinstance(value, dict) else list(value)
    if random.random() < 0.1:
        del changed[k]
    else:
        changed[k] = retold(random, value[k])
    return changed


def retold_netcdf(random: Random, content: bytes, other: bytes) -> bytes:
    """Our own NetCDF file of other variables, attributes, types or sizes, sealed anew."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed.nc"
        path.write_bytes(content)
        with xr.open_dataset(path, engine="netcdf4", decode_times=False, mask_and_scale=False) as opened:
            dataset = opened.load()
        try:
            for _ in range(random.choice((1, 1, 2, 3))):
                dataset = changed_dataset(random, dataset)
            write_dataset(dataset, path)
        except Exception:  # nothing that NetCDF can hold
            return content
        return path.read_bytes()


def changed_dataset(random: Random, dataset: Any) -> Any:
    names = list(dataset.variables)
    name = random.choice(names)
    kind = random.choice(("fact", "mark", "mark", "drop", "values", "type", "part", "rename", "transpose"))
    if kind == "fact":
        key = random.choice(list(dataset.attrs))
        return dataset.assign_attrs({key: random.choice(ODD)})
    changed = dataset.copy(deep=True)
    variable = changed[name]
    if kind == "mark" and variable.attrs:
        key = random.choice(list(variable.attrs))
        changed[name].attrs[key] = random.choice((*ODD, *(v.attrs.get(key, 0) for v in changed.variables.values())))
    elif kind == "drop":
        return changed.drop_vars(name)
    elif kind == "values" and variable.dtype.kind in "uif" and variable.size and name not in changed.dims:
        variable.values.reshape(-1)[random.randrange(variable.size)] = random.choice((0, 1, 7, 200))
        if variable.dtype.kind == "f":
            variable.values.reshape(-1)[-1] = random.choice((math.nan, -1.0, math.inf, 1e308, 5e-324))
    elif kind == "type" and name not in changed.dims:
        changed[name] = variable.astype(random.choice(("f4", "f8", "i1", "i8", "u1", "u8", "S4", "U")))
    elif kind == "part" and variable.dims:
        return changed.isel({random.choice(variable.dims): slice(0, random.choice((0, 1, 2)))})
    elif kind == "rename":
        return changed.rename({name: random.choice(("table_x", "t", "target0_y", "trace_iteration"))})
    elif kind == "transpose":
        return changed.transpose(*reversed(list(changed.dims)))
    return changed
