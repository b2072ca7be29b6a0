"""Which known profile each of other profiles is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from purtensor._typing import IntArray
from purtensor.tables.grouping import group_profiles


def lookup(known: Sequence[IntArray], wanted: Sequence[IntArray]) -> IntArray:
    """Return for each wanted profile where among the distinct known ones it stands, -1 where it does not.

    Both are in codes of the same categories; a wanted code of -1 is a category that is not known.
    """
    count = len(known[0])
    out = np.full(len(wanted[0]), -1, dtype=np.int64)
    candidates = np.flatnonzero(np.all([code >= 0 for code in wanted], axis=0))
    joint = [np.concatenate([old, new[candidates]]) for old, new in zip(known, wanted, strict=True)]
    group, _ = group_profiles(joint, [int(code.max()) + 1 for code in joint])
    # where a group stands among the known; -1 for groups of wanted profiles alone
    place = np.full(int(group.max()) + 1, -1, dtype=np.int64)
    place[group[:count]] = np.arange(count)
    out[candidates] = place[group[count:]]
    return out
