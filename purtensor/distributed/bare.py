"""A target that no profile can meet, told by its row."""

from __future__ import annotations

from collections.abc import Sequence

from purtensor.errors import InfeasibleError
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
