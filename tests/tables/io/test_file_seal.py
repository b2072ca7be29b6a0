from __future__ import annotations

import hashlib

import pytest

import purtensor as pt
from purtensor.tables.io.file_seal import append_seal, check_seal


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
