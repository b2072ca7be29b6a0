"""Who and what the Adult study is about."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

RESPONSE = "income"
PROTECTED = ("gender", "race")
REFERENCE: Mapping[str, str] = MappingProxyType({"gender": "male", "race": "white"})
"""The protected profile that the others are compared with."""

POSITIVE = ">50K"
"""The response whose disparities are told; the second of the two."""

DATA = "f"
MAX_ENT = "MaxEnt"
