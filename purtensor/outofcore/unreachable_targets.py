"""A target that no profile can meet, named by its row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from purtensor.errors import InfeasibleError
from purtensor.outofcore.slab_store import SlabStore
from purtensor.outofcore.tally import Tally
from purtensor.tables.coded import described
from purtensor.tables.domain import Domain


class BareRowError(InfeasibleError):
    """A row of a constraint with a positive target, and no profile of the support.

    Attributes
    ----------
    constraint, codes
        The position of the constraint, and the codes of the row in the reference's categories.
    """

    def __init__(self, domain: Domain, scope: Sequence[str], constraint: int, codes: Sequence[int]) -> None:
        self.constraint = constraint
        self.codes = tuple(int(code) for code in codes)
        self.row = described(domain.select(scope), self.codes)
        super().__init__(
            f"no distribution meets the constraints: {self.row} has a positive target over ({', '.join(scope)}), but "
            "its support is empty"
        )


def refuse_bare(store: SlabStore, tally: Tally, domain: Domain) -> None:
    """Raise BareRowError where a row that couples the parts has a positive target and no profile."""
    # where sums may underflow, only the logarithm tells a tiny sum from none
    has = np.isfinite(tally.logs["outer"]) if store.spans_the_range else tally.sums["outer"] > 0
    bare = np.flatnonzero((store.outer_targets > 0) & ~has)
    if len(bare):
        a, k = next((a, k) for a, k in enumerate(store.outside) if bare[0] < store.outer_blocks[k].stop)
        row = int(bare[0]) - store.outer_blocks[k].start
        raise BareRowError(domain, store.scopes[k], k, [code[row] for code in store.outer_codes[a]])
