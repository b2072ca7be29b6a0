"""A checksum that keeps up with memory: it finds damage, not malice."""

from __future__ import annotations

import numpy as np

from purtensor._typing import IntArray
from purtensor.kernels._jit import compiled

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@compiled
def checksum(words: IntArray) -> int:
    """Return 64 bits that depend on every one of the words (uint64) and on their order."""
    lanes = np.empty(4, dtype=np.uint64)
    for j in range(4):
        lanes[j] = np.uint64(j + 1)
    whole = words.size - words.size % 4
    a, b, c, d = lanes[0], lanes[1], lanes[2], lanes[3]
    for i in range(0, whole, 4):
        a = (a ^ words[i]) * _FACTOR
        b = (b ^ words[i + 1]) * _FACTOR
        c = (c ^ words[i + 2]) * _FACTOR
        d = (d ^ words[i + 3]) * _FACTOR
        a ^= a >> _SHIFT
        b ^= b >> _SHIFT
        c ^= c >> _SHIFT
        d ^= d >> _SHIFT
    for i in range(whole, words.size):
        a = (a ^ words[i]) * _FACTOR
        a ^= a >> _SHIFT
    lanes[0], lanes[1], lanes[2], lanes[3] = a, b, c, d
    mixed = np.uint64(words.size)
    for j in range(4):
        mixed = (mixed ^ lanes[j]) * _FACTOR
        mixed ^= mixed >> _SHIFT
    return int(mixed)
