from __future__ import annotations

import gzip
import os

import pytest

import purtensor as pt
from purtensor.tables import memory
from purtensor.tables.io import read_errors as reading
from purtensor.tables.io.read_errors import first_line, require_even_rows, require_room, require_short_lines


@pytest.mark.parametrize("error", [ValueError("spoilt\nhere"), OSError(22, "spoilt here"), KeyError("spoilt here")])
def test_reading__names_the_file_whatever_is_raised(error):
    told = r"x\.bin is damaged, or not a map: .*spoilt here"
    with pytest.raises(pt.errors.FileFormatError, match=told) as caught, reading.reading("x.bin", "a map"):
        raise error
    assert caught.value.__cause__ is error


def test_reading__memory_has_an_error_of_its_own():
    told = r"x\.bin needs more memory than available, or is damaged: MemoryError; .* are available"
    with pytest.raises(pt.TooLargeError, match=told) as caught, reading.reading("x.bin"):
        raise MemoryError
    assert caught.value.bytes_needed > caught.value.bytes_available


@pytest.mark.parametrize(
    "error",
    [
        pt.InvalidTableError("so"),
        FileNotFoundError("so"),
        PermissionError("so"),
        ImportError("so"),
        KeyboardInterrupt("so"),
    ],
)
def test_reading__leaves_what_says_enough(error):
    with pytest.raises(type(error), match="so") as caught, reading.reading("x.bin"):
        raise error
    assert caught.value is error


@pytest.mark.parametrize("kind", [FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError])
def test_reading__names_what_the_system_says_of_this_file_alone(kind):
    with (
        pytest.raises(pt.errors.UnreadableFileError, match=r"x\.bin .*(for a survey|a survey was expected)"),
        reading.reading("x.bin", "a survey"),
    ):
        raise kind(5, "so", "x.bin")
    with pytest.raises(kind) as caught, reading.reading("x.bin"):
        raise kind(5, "so", "y.bin")
    assert type(caught.value) is kind


EVEN = {
    "plain": "a,b\n1,2\n3,4\n",
    "no last end": "a,b\n1,2",
    "empty lines": "a,b\n\n1,2\n  \n\n3,4\n\n",
    "quoted comma": 'a,b\n"1,2",3\n',
    "quoted line end": 'a,b\n"1\n2",3\n4,"5\r\n6"\n',
    "quoted quote": 'a,b\n"1"",",2\n',
    "returns": "a,b\r1,2\r\n3,4\r",
    "BOM": '\ufeff"a,a",b\n1,2\n',
    "one column": "a\n1\n\n2\n",
    "a quote inside": 'a,b\n1",2\n3,4\n',
    "not UTF-8": b"a,b\n\xff,\xe9\n",
    "form feeds": "a,b\n1\x0c,\x0b2\x852\n",
    "nothing": "",
}
UNEVEN = {
    "one cell less": ("a,b\n1,2\n3\n", "1 cells in row 2 .* 2 are expected"),
    "one more": ("a,b\n1,2,\n", "3 cells in row 1"),
    "a lost line end": ("a,b\n1,2\n3,4,5,6\n", "4 cells in row 2"),
    "after a quoted line end": ('a,b\n"1\n2",3\n4\n', "1 cells in row 2"),
    "in a quoted row": ('a,b\n"1,2"\n', "1 cells in row 1"),
    "a return inside": ("a,b\n1,2\r3\n", "1 cells in row 2"),
}


@pytest.mark.parametrize("text", EVEN.values(), ids=EVEN)
@pytest.mark.parametrize("separator", [",", "\t"], ids=["commas", "tabs"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_require_even_rows__lets_tables_pass(tmp_path, text, separator, name):
    content = text if isinstance(text, bytes) else text.encode()
    if separator == "\t" and b"\t" not in content:
        content = content.replace(b",", b"\t")
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    require_even_rows(tmp_path / name, separator if separator.encode() in content else ",")


@pytest.mark.parametrize(("text", "told"), UNEVEN.values(), ids=UNEVEN)
def test_require_even_rows__names_the_row(tmp_path, text, told):
    (tmp_path / "t.csv").write_text(text, newline="")
    with pytest.raises(pt.errors.FileFormatError, match=rf"t\.csv has {told}"):
        require_even_rows(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text(text.replace(",", "\t"), newline="")
    with pytest.raises(pt.errors.FileFormatError, match=rf"t\.csv has {told}"):
        require_even_rows(tmp_path / "t.csv", "\t")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('a,b\n"1,2\n3,4\n', "unexpected end of data"),
        ('a,b\n"1"x,2\n', "expected after"),
        ("a,b\r,2\r", "a single carriage return before an empty cell"),
        ("a,b\n1\0 and more,2\n", "a null character"),
        ('a,b\n"1\n\0 and more",2\n', "a null character"),
    ],
)
def test_require_even_rows__refuses_what_readers_take_for_something_else(tmp_path, text, told):
    (tmp_path / "t.csv").write_text(text, newline="")
    with pytest.raises(pt.errors.FileFormatError, match=rf"t\.csv .*{told}"):
        require_even_rows(tmp_path / "t.csv")


@pytest.mark.parametrize("row", ["\t\n", "\t\t\n", " \n"])
def test_require_even_rows__tabs_are_cells_where_they_separate(tmp_path, row):
    (tmp_path / "t.tsv").write_text("a\tb\n1\t2\n" + row)
    if row == "\t\t\n":
        with pytest.raises(pt.errors.FileFormatError, match="3 cells in row 2"):
            require_even_rows(tmp_path / "t.tsv", "\t")
    else:
        require_even_rows(tmp_path / "t.tsv", "\t")


@pytest.fixture
def little_memory(monkeypatch):
    """As on a machine that has 64 MiB left."""
    for module in (memory, reading):
        monkeypatch.setattr(module, "available_memory", lambda: 64 << 20)


def test_require_room__counts_what_a_compressed_file_unpacks_to(tmp_path, little_memory):
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"y,count\n" + b"a" * (64 << 20) + b",1\n", 9))
    assert os.path.getsize(bomb) < 100_000
    with pytest.raises(pt.TooLargeError, match=r"reading .*bomb\.csv\.gz needs \d+ bytes"):
        require_room(bomb)
    with pytest.raises(pt.TooLargeError, match=r"bomb\.csv\.gz needs"):
        pt.load(bomb)
    with pytest.raises(pt.errors.FileFormatError, match="a line of more than 4194304 bytes"):
        pt.tabulate(bomb)  # in pieces, on disk if need be: no room is asked for before


def test_require_room__takes_what_fits(tmp_path, little_memory):
    for name, content in (("a.csv", b"x" * 1000), ("a.csv.gz", gzip.compress(b"x" * 1000))):
        (tmp_path / name).write_bytes(content)
        require_room(tmp_path / name)
    (tmp_path / "large.csv").write_bytes(b"x" * (5 << 20))
    with pytest.raises(pt.TooLargeError, match="large"):
        require_room(tmp_path / "large.csv")


def test_first_line__reads_no_further(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\r\n" + b"x" * 100_000 + b"\xff\xfe")
    assert first_line(path) == "a,b\r\n"
    path.write_bytes(b"a" * 50)
    with pytest.raises(pt.errors.FileFormatError, match="no line end in its first 20"):
        first_line(path, longest=20)
    for content in ("a,b\n".encode("utf-16"), b"a\0b\n"):
        path.write_bytes(content)
        with pytest.raises(pt.errors.FileFormatError, match=r"a\.csv"):
            first_line(path)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_require_short_lines__finds_the_longest(tmp_path, end, packed):
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    for lengths in ((3, 50, 9), (50, 2), (2, 50), (20, 30, 41)):
        content = end.join(b"x" * length for length in lengths)
        path.write_bytes(gzip.compress(content) if packed else content)
        require_short_lines(path, max(lengths))
        with pytest.raises(pt.errors.FileFormatError, match=f"a line of more than {max(lengths) - 1} bytes"):
            require_short_lines(path, max(lengths) - 1)
