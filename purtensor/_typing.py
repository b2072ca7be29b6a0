"""Types that every layer shares."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import xarray as xr

Table: TypeAlias = xr.DataArray
Attributes: TypeAlias = "str | list[str] | tuple[str, ...]"
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Profile: TypeAlias = tuple[Any, ...]
