"""Two tables on the same profiles, compared as shares of their totals without losing digits.

Shares p/P and q/Q are never formed where they are nearly equal: products and totals carry what their rounding lost, so
that p/P - q/Q is right to its last digits (notes/information.md, equation 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import BoolArray, FloatArray
from purtensor.errors import UnknownAttributeError
from purtensor.tables.domain import Domain
from purtensor.tables.masses import exact_sum

_SPLIT = 2.0**27 + 1.0  # Veltkamp: halves of a float64 whose products are exact


@dataclass(frozen=True, slots=True)
class Total:
    """A total as 2^exponent (high + low), with high in [1/2, 1] and low what its rounding lost."""

    high: float
    low: float
    exponent: int

    @classmethod
    def of(cls, values: FloatArray) -> Total:
        """Return the total of the values to about 32 digits."""
        exponent = math.frexp(exact_sum(values))[1]
        scaled = np.ldexp(values, -exponent)
        high = exact_sum(scaled)
        return cls(high, exact_sum(np.append(scaled, -high)), exponent)


@dataclass(frozen=True, slots=True, eq=False)
class SharedProfiles:
    """The masses of two tables on the same profiles, with the totals of the whole tables.

    Attributes
    ----------
    p, q
        Masses, 0 where a table has none.
    p_total, q_total
        The totals that make shares of them.
    """

    p: FloatArray
    q: FloatArray
    p_total: Total
    q_total: Total

    @property
    def p_scaled(self) -> FloatArray:
        """The masses of p over the power of two of its total."""
        return np.ldexp(self.p, -self.p_total.exponent)

    @property
    def q_scaled(self) -> FloatArray:
        """The masses of q over the power of two of its total."""
        return np.ldexp(self.q, -self.q_total.exponent)

    def where(self, chosen: BoolArray) -> SharedProfiles:
        """Return some of the profiles, as shares of the same totals."""
        return SharedProfiles(self.p[chosen], self.q[chosen], self.p_total, self.q_total)

    def _cross_difference(self) -> FloatArray:
        """Return p Q - q P on scaled masses; products and totals carry their lost parts, so cancellation is exact."""
        first, first_low = _two_product(self.p_scaled, self.q_total.high)
        second, second_low = _two_product(self.q_scaled, self.p_total.high)
        lost = (first_low + self.p_scaled * self.q_total.low) - (second_low + self.q_scaled * self.p_total.low)
        return (first - second) + lost

    def difference(self) -> FloatArray:
        """Return p/P - q/Q."""
        return self._cross_difference() / (self.p_total.high * self.q_total.high)

    def relative_difference(self) -> FloatArray:
        """Return (p/P) / (q/Q) - 1, infinite where it overflows; q is positive."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            quotient = self._cross_difference() / (self.q_scaled * self.p_total.high)
        return np.where(np.isnan(quotient), np.inf, quotient)

    def log_ratio(self) -> FloatArray:
        """Return the log of (p/P) / (q/Q) for positive p and q, beyond the range of float64 too."""
        # near 1 by log1p of the difference (notes/information.md, equation 3): a rounded ratio would lose its digits
        near = self.relative_difference()
        close = np.abs(near) <= 0.5
        # elsewhere by mantissas and powers of two: p / q itself may overflow
        (p, p_power), (q, q_power) = np.frexp(self.p), np.frexp(self.q)
        power = (p_power - float(self.p_total.exponent)) - (q_power - float(self.q_total.exponent))
        far = np.log((p * self.q_total.high) / (q * self.p_total.high)) + power * math.log(2.0)
        return np.where(close, np.log1p(np.where(close, near, 0.0)), far)


def require_same_attributes(domains: Sequence[Domain], names: Sequence[str]) -> None:
    """Refuse tables that are not all over the same attributes; the names are those of the tables.

    Raises
    ------
    UnknownAttributeError
        Naming an attribute, and the table that lacks it.
    """
    for one in domains:
        for other, name in zip(domains, names, strict=True):
            for attribute in one.attributes:
                if attribute not in other.attributes:
                    raise UnknownAttributeError.among(attribute, other.attributes, name)


def _two_product(a: FloatArray, b: float) -> tuple[FloatArray, FloatArray]:
    """Return the product rounded, and what the rounding lost (Dekker 1971)."""
    product = a * b
    a_high, b_high = _upper_half(a), float(_upper_half(np.float64(b)))
    a_low, b_low = a - a_high, b - b_high
    lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, lost


def _upper_half(a: FloatArray | np.float64) -> FloatArray:
    big = _SPLIT * a
    return np.asarray(big - (big - a))
