from __future__ import annotations

import numpy as np
import pytest

from purtensor.errors import StoreError
from purtensor.outofcore.array_file import read_packed, write_packed

ARRAYS = {
    "codes": np.arange(12, dtype=np.uint8).reshape(3, 4),
    "values": np.array([1.5, -0.0, np.inf]),
    "none": np.empty((0, 2), dtype=np.int32),
}


def test_packed__comes_back(tmp_path):
    path = tmp_path / "part"
    proof = write_packed(path, ARRAYS, {"slabs": 3, "names": ["ä"]})
    assert int.from_bytes(path.read_bytes()[-8:], "little") == proof
    packed = read_packed(path)
    assert packed.facts == {"slabs": 3, "names": ["ä"]}
    for name, array in ARRAYS.items():
        assert packed.arrays[name].dtype == array.dtype
        assert np.array_equal(packed.arrays[name], array)
    packed.arrays["values"][0] = 2.0  # kernels write into what they are given
    assert [file.name for file in tmp_path.iterdir()] == ["part"]


@pytest.mark.parametrize("at", [3, 30, 100, 200, -1])
def test_packed__damage_is_found(tmp_path, at):
    path = tmp_path / "part"
    write_packed(path, ARRAYS, {})
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match="part"):
        read_packed(path)


@pytest.mark.parametrize("length", [0, 7, 64, 201])
def test_packed__cut_off(tmp_path, length):
    path = tmp_path / "part"
    write_packed(path, ARRAYS, {})
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(StoreError, match=r"truncated|damaged"):
        read_packed(path)


def test_packed__missing(tmp_path):
    with pytest.raises(StoreError, match="cannot be read"):
        read_packed(tmp_path / "nothing")


def test_packed__a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "part"
    write_packed(path, ARRAYS, {"generation": 1})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        write_packed(path, ARRAYS, {"generation": 2})
    assert read_packed(path).facts == {"generation": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["part"]
