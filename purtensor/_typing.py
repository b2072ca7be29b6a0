"""Types that every layer shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import xarray as xr

Table: TypeAlias = xr.DataArray
Attributes: TypeAlias = "str | list[str] | tuple[str, ...]"
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Profile: TypeAlias = tuple[Any, ...]

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # the default of a type variable came with Python 3.13

    TableT = TypeVar("TableT", default=Table)
else:
    from typing import TypeVar

    TableT = TypeVar("TableT")
"""What results are about: a Table, or a StoredTable whose numbers are on disk."""
