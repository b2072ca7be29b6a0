from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from purtensor.tables.io.content_hash import content_hash


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
