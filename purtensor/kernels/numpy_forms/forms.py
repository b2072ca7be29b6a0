"""What the files of this folder list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Forms: TypeAlias = dict[Any, Callable[..., Any]]
"""For kernels their forms in numpy."""
