"""Exit codes of the commands."""

from __future__ import annotations

DONE = 0
BAD_INPUT = 2
INFEASIBLE = 3
NOT_CONVERGED = 4
TOO_LARGE = 5
INTERRUPTED = 130
