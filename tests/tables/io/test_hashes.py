from __future__ import annotations

import hashlib

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.tables.io.hashes import append_seal, check_seal, content_hash


def dataset(values=(1.0, 2.0), labels=("a", "b"), dim="sex", attribute="x", name="count", kind=float):
    return xr.Dataset(
        {name: (dim, np.array(values, dtype=kind), {"told": attribute})}, coords={dim: list(labels)}, attrs={"n": 1}
    )


CHANGED = {
    "value": dataset(values=(1.0, 2.0000000000000004)),
    "sign of zero": dataset(values=(0.0, 2.0)),
    "label": dataset(labels=("a", "c")),
    "labels joined otherwise": dataset(labels=("ab", "")),
    "dimension": dataset(dim="sax"),
    "attribute": dataset(attribute="y"),
    "name": dataset(name="number"),
    "type": dataset(kind=np.float32),
    "fewer values": dataset(values=(1.0,), labels=("a",)),
    "dataset attribute": dataset().assign_attrs(n=2),
}


@pytest.mark.parametrize("other", CHANGED.values(), ids=CHANGED)
def test_content_hash__changes_with_everything_that_is_said(other):
    assert content_hash(other) != content_hash(dataset())


def test_content_hash__tells_zeros_apart():
    assert content_hash(dataset(values=(0.0, 2.0))) != content_hash(dataset(values=(-0.0, 2.0)))


def test_content_hash__is_the_same_whatever_holds_the_content():
    known = content_hash(dataset())
    assert content_hash(dataset(labels=np.array(["a", "b"], dtype=object))) == known
    assert content_hash(dataset().assign_attrs(n=np.int64(1))) == known
    swapped = dataset()
    swapped["count"] = ("sex", np.array([1, 2], dtype=">f8"), {"told": "x"})
    assert content_hash(swapped) == known
    assert content_hash(dataset().assign_attrs(seal="abc"), ignored=("seal",)) == known
    assert len(known) == 64


@pytest.fixture
def sealed(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(bytes(range(256)) * 10_000)
    append_seal(path)
    return path


def test_check_seal__passes_what_was_sealed(sealed):
    check_seal(sealed)
    check_seal(str(sealed))
    assert sealed.read_bytes()[2_560_000:].split()[2].decode() == hashlib.sha256(bytes(range(256)) * 10_000).hexdigest()


@pytest.mark.parametrize("position", [0, 1_500_000, 2_559_999])
def test_check_seal__any_changed_byte(sealed, position):
    content = bytearray(sealed.read_bytes())
    content[position] ^= 1
    sealed.write_bytes(bytes(content))
    with pytest.raises(pt.errors.FileFormatError, match=r"x\.bin is damaged"):
        check_seal(sealed)


@pytest.mark.parametrize("length", [0, 40, 1000, 2_560_000, 2_560_081])
def test_check_seal__a_file_that_was_cut_off(sealed, length):
    sealed.write_bytes(sealed.read_bytes()[:length])
    with pytest.raises(
        pt.errors.FileFormatError, match="no hash at its end: it is truncated, or was written by another program"
    ):
        check_seal(sealed)


def test_append_seal__of_an_empty_file(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    append_seal(tmp_path / "empty")
    check_seal(tmp_path / "empty")
    assert len((tmp_path / "empty").read_bytes()) == 82
