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
    # four lanes: a multiplication waits for the one before, and memory would wait for them
    lanes = np.empty(4, dtype=np.uint64)
    for j in range(4):
        lanes[j] = np.uint64(j + 1)
    whole = words.size - words.size % 4
    a, b, c, d = lanes[0], lanes[1], lanes[2], lanes[3]
    for i in range(0, whole, 4):
        # by an odd factor, which is one to one: a damaged word always changes its lane
        a = (a ^ words[i]) * _FACTOR
        b = (b ^ words[i + 1]) * _FACTOR
        c = (c ^ words[i + 2]) * _FACTOR
        d = (d ^ words[i + 3]) * _FACTOR
        # high bits, which a product mixes best, go down to where the next word is taken in
        a ^= a >> _SHIFT
        b ^= b >> _SHIFT
        c ^= c >> _SHIFT
        d ^= d >> _SHIFT
    for i in range(whole, words.size):
        a = (a ^ words[i]) * _FACTOR
        a ^= a >> _SHIFT
    lanes[0], lanes[1], lanes[2], lanes[3] = a, b, c, d
    # the length counts: zeros that were cut off are damage, too
    mixed = np.uint64(words.size)
    for j in range(4):
        mixed = (mixed ^ lanes[j]) * _FACTOR
        mixed ^= mixed >> _SHIFT
    return int(mixed)
