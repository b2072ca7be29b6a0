from __future__ import annotations

import numpy as np

from purtensor.kernels.checksum import checksum
from tests.kernels.drawn import both, plain


@both(checksum)
def test_checksum__sees_every_bit_and_the_order(kernel):
    words = np.arange(11, dtype=np.uint64)
    with np.errstate(over="ignore"):
        seen = {int(kernel(words))}
        for i in range(11):
            for bit in (0, 31, 63):
                changed = words.copy()
                changed[i] ^= np.uint64(1 << bit)
                seen.add(int(kernel(changed)))
        seen.add(int(kernel(words[::-1].copy())))
        seen.add(int(kernel(words[:-1])))
        seen.add(int(kernel(np.append(words, np.uint64(0)))))
    assert len(seen) == 1 + 33 + 3


def test_checksum__compiled_is_the_same():
    words = np.arange(1001, dtype=np.uint64) * np.uint64(77)
    with np.errstate(over="ignore"):
        assert checksum(words) & (2**64 - 1) == plain(checksum)(words)
