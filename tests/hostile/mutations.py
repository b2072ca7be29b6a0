"""Valid files made invalid: bits, bytes, lengths, lines and cells, changed by a seeded random generator."""

from __future__ import annotations

import gzip
import struct
from random import Random

TOKENS = (
    b"",
    b"\0",
    b'"',
    b'""',
    b",",
    b";",
    b"\t",
    b"\r",
    b"\n",
    b"\r\n",
    b" ",
    b"nan",
    b"inf",
    b"-inf",
    b"1e999",
    b"1_0",
    b"-0",
    b"+1",
    b"007",
    b"0x10",
    b"1e5",
    b"1,5",
    b"9007199254740993",
    b"99999999999999999999",
    b"9" * 400,
    b"1e-400",
    b"true",
    b"false",
    b"True",
    b"[1, 2)",
    b"(2, 1]",
    b"[1, 2]",
    b"[1e5, inf)",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xc3",
    "\u0663".encode(),
    "\U0001f600".encode(),
    b"\xed\xa0\x80",
    b"=1+1",
    b"NA",
    b"null",
    b"None",
    b"#",
    b"'",
    b"\\",
    b"count",
    b"probability",
    b"value",
    b"profile",
    b"missing",
    b"/etc/passwd",
    b"http://127.0.0.1:9/x.csv",
    b"*.csv",
)
WHOLE = (0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)


def mutated(random: Random, content: bytes, other: bytes) -> bytes:
    """Return the content after one or a few changes; most spoil it, some do not."""
    kinds = (*BINARY, *TEXT) if is_text(content) else BINARY
    for _ in range(random.choice((1, 1, 1, 1, 2, 2, 3, 8))):
        content = random.choice(kinds)(random, content, other)
    return content


def is_text(content: bytes) -> bool:
    """Return whether most of the content can be read."""
    return sum(byte in b"\r\n\t" or byte >= 32 for byte in content[:200]) >= 0.95 * len(content[:200])


def at(random: Random, content: bytes) -> int:
    """A place: anywhere, or near either end, where headers and footers are."""
    near = min(len(content), random.choice((64, 600)))
    return random.choice(
        (random.randrange(len(content) + 1), random.randrange(near + 1), len(content) - random.randrange(near + 1))
    )


def flipped(random, content, other):
    place = min(at(random, content), len(content) - 1)
    if place < 0:
        return content
    return content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]


def overwritten(random, content, other):
    """With a length as a binary file has them, or a variable-length integer of thrift."""
    number = random.choice(WHOLE) + random.choice((-1, 0, 0, 1))
    size = random.choice((1, 2, 4, 8))
    field = (number % 256**size).to_bytes(size, random.choice(("little", "big")))
    if random.random() < 0.4:
        field = varint(number % 2**64)
    place = at(random, content)
    return content[:place] + field + content[place + random.choice((len(field), 1)) :]


def varint(number: int) -> bytes:
    """Return an unsigned integer in groups of seven bits."""
    groups = [number & 0x7F]
    while number := number >> 7:
        groups[-1] |= 0x80
        groups.append(number & 0x7F)
    return bytes(groups)


def cut(random, content, other):
    return content[: at(random, content)]


def without_a_part(random, content, other):
    place = at(random, content)
    return content[:place] + content[place + random.randint(1, 40) :]


def repeated_part(random, content, other):
    place, length = at(random, content), random.randint(1, 60)
    return content[:place] + content[place : place + length] * random.randint(2, 4) + content[place + length :]


def spliced(random, content, other):
    return content[: at(random, content)] + other[at(random, other) :]


def with_token(random, content, other):
    place = at(random, content)
    return content[:place] + random.choice(TOKENS) + content[place + random.choice((0, 0, 1, 4)) :]


def with_float(random, content, other):
    number = random.choice((float("nan"), float("inf"), -1.0, 1e300, 5e-324, -0.0))
    place = at(random, content) & ~7
    return content[:place] + struct.pack("<d", number) + content[place + 8 :]


def other_cell(random, content, other):
    lines = content.split(b"\n")
    k = random.randrange(len(lines))
    cells = lines[k].split(b",")
    cells[random.randrange(len(cells))] = random.choice((*TOKENS, random.choice(cells)))
    return b"\n".join([*lines[:k], b",".join(cells), *lines[k + 1 :]])


def other_lines(random, content, other):
    lines = content.split(b"\n")
    i, j = random.randrange(len(lines)), random.randrange(len(lines))
    lines[i] = random.choice((lines[j], b"", lines[i] + b"\n" + lines[j], lines[i] + b"," + lines[j]))
    return b"\n".join(lines)


def other_column(random, content, other):
    """The same token in one cell of every line: types change where a whole column does."""
    token, k = random.choice(TOKENS), random.randrange(3)
    lines = [line.split(b",") for line in content.split(b"\n")]
    for line in lines[random.randrange(2) :]:
        if k < len(line) and (len(line) > 1 or line[0]):
            line[k] = token
    return b"\n".join(b",".join(line) for line in lines)


def other_encoding(random, content, other):
    encoding = random.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "utf-7", "gzip"))
    if encoding == "gzip":
        return gzip.compress(content, 1)
    return content.decode("utf-8", "replace").encode(encoding, "replace")


def other_separator(random, content, other):
    return content.replace(
        random.choice((b",", b"\n")), random.choice((b";", b"\t", b"|", b"\r", b"\r\n", b" ", b"\x1f"))
    )


BINARY = (
    flipped,
    flipped,
    overwritten,
    overwritten,
    cut,
    without_a_part,
    repeated_part,
    spliced,
    with_token,
    with_float,
)
TEXT = (other_cell, other_cell, other_cell, other_lines, other_lines, other_column, other_encoding, other_separator)
