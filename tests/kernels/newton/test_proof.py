from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purtensor.kernels.newton.near_proof import NUMBERS, add_near
from purtensor.kernels.newton.proof import UNIT, add_misses, add_moves, add_proof, sum_rest
from tests.kernels.drawn import Arrays, both
from tests.oracles import DIGITS

SIZES = st.sampled_from((1e-12, 1e-7, 1e-3, 0.009, 0.011, 0.5))


@both(add_misses)
@given(st.integers(0, 2**32 - 1), st.integers(-40, 0))
def test_add_misses__to_twice_the_digits(kernel, seed, exponent):
    rng = np.random.default_rng(seed)
    masses = rng.uniform(0.0, 1.0, 30) * 2.0 ** rng.integers(-60, 1, 30)
    moves = 2.0**exponent * masses * rng.standard_normal(30)
    row = rng.integers(0, 4, 30).astype(np.uint8)
    high = np.bincount(row, masses, minlength=4)
    exact = [Fraction(target) for target in high.tolist()]
    for r, mass, move in zip(row.tolist(), masses.tolist(), moves.tolist(), strict=True):
        exact[r] -= Fraction(mass) + Fraction(move)
    low, size, count = np.zeros(4), np.zeros(4), np.zeros(4)
    kernel(masses, moves, row, high, low, size, count)
    assert count.tolist() == np.bincount(row, minlength=4).tolist()
    for r in range(4):
        off = abs(Fraction(high[r]) + Fraction(low[r]) - exact[r])
        assert off <= 2 * Fraction(count[r]) * Fraction(UNIT) * Fraction(size[r]) * (1 + Fraction(2) ** -20)
        assert off <= Fraction(1e-15) * (Fraction(1e-16) + Fraction(2.0**exponent))


@both(add_moves)
def test_add_moves__empty_no_profile_further(kernel):
    arrays = Arrays(3, profiles=1100)
    potentials = np.random.default_rng(4).normal(scale=0.6, size=len(arrays.targets))
    wanted = np.maximum(arrays.reference * (arrays.coefficients.T @ potentials), -arrays.reference)
    moves, sums = np.zeros(1100), np.empty(2)
    kernel(arrays.reference, arrays.index, arrays.offsets, potentials, 0, 1100, moves, sums)
    assert moves == pytest.approx(wanted, rel=1e-12, abs=1e-18)
    assert (wanted == -arrays.reference).any()
    assert sums == pytest.approx([np.abs(wanted).sum(), (wanted**2 / arrays.reference).sum()], rel=1e-12)


def exact_proof(arrays, moves, rest, potentials, own):
    """What `add_proof` bounds, at the ends of what the feasible point can be, in many digits."""
    with localcontext() as context:
        context.prec = DIGITS
        upper = gap = Decimal(0)
        for i, mass in enumerate(map(Decimal, arrays.reference.tolist())):
            rows = np.flatnonzero(arrays.coefficients[:, i])
            v = sum((Decimal(float(potentials[r])) for r in rows), Decimal(0))
            rounding = Decimal(UNIT) * (5 + sum((Decimal(float(own[r])) for r in rows), Decimal(0)))
            ends = [(Decimal(float(moves[i])) + sign * Decimal(float(rest[i]))) / mass for sign in (-1, 1)]
            logs = [(1 + w).ln() for w in ends]
            upper += mass * max((1 + w) * log - w for w, log in zip(ends, logs, strict=True))
            gap += mass * max(
                (1 + w) * (log - v + sign * rounding) - (1 + w) + (v - sign * rounding).exp()
                for w, log in zip(ends, logs, strict=True)
                for sign in (-1, 1)
            )
        return upper, gap


@both(add_proof)
@given(SIZES, st.integers(0, 2**32 - 1))
def test_add_proof__is_above_and_close(kernel, size, seed):
    arrays, rng = Arrays(seed), np.random.default_rng(seed)
    potentials = size / 3 * rng.uniform(-1.0, 1.0, len(arrays.targets))
    own = rng.uniform(0.0, 2.0, len(arrays.targets))
    moves = arrays.reference * (arrays.coefficients.T @ potentials)
    rest = np.where(rng.uniform(size=40) < 0.3, 1e-3 * size * arrays.reference, 0.0)
    out = np.empty(6)
    kernel(
        arrays.reference,
        moves,
        rest,
        arrays.index,
        arrays.offsets,
        potentials,
        np.abs(potentials),
        own,
        0.1,
        0,
        40,
        out,
    )
    upper, gap = exact_proof(arrays, moves, rest, potentials, own)
    assert upper <= Decimal(out[0]) <= upper * Decimal("1.02") + Decimal("1e-13") * (size > 0.01)
    assert gap <= Decimal(out[1])
    assert Decimal(out[1]) <= 10 * gap + Decimal(float((rest**2 / arrays.reference).sum())) + Decimal("1e-12")
    assert out[2] == pytest.approx(np.abs(moves + 0.1 * arrays.reference).sum(), rel=1e-12)
    assert out[3] == pytest.approx(rest.sum(), rel=1e-12)
    assert out[4] == pytest.approx(UNIT * (5 + (arrays.coefficients.T @ own).max()), rel=1e-12)
    assert out[5] == 0.0


@both(add_proof)
@pytest.mark.parametrize(
    ("move", "rest", "told"), [(-1.0, 0.0, 0.0), (-1.0, 1e-300, 1.0), (-0.75, 0.25, 1.0), (-0.75, 0.2, 0.0)]
)
def test_add_proof__tells_where_a_mass_may_be_negative(kernel, move, rest, told):
    index, offsets, out = np.zeros((1, 1), dtype=np.uint8), np.array([0, 1]), np.empty(6)
    one, none = np.ones(1), np.zeros(1)
    kernel(one, move * one, rest * one, index, offsets, none, none, none, 0.0, 0, 1, out)
    assert out[5] == told


@both(add_proof)
def test_add_proof__is_no_number_where_a_move_is_none(kernel):
    index, offsets, out = np.zeros((1, 1), dtype=np.uint8), np.array([0, 1]), np.empty(6)
    one, none = np.ones(1), np.zeros(1)
    kernel(one, np.array([np.nan]), none, index, offsets, none, none, none, 0.0, 0, 1, out)
    assert np.isnan(out).all()


@both(sum_rest)
def test_sum_rest__is_infinite_where_a_mass_of_0_has_some(kernel):
    rest, masses = np.array([0.5, 0.0, 2.0]), np.array([4.0, 0.0, 8.0])
    assert kernel(rest, masses) == (2.5, 0.0625 + 0.5)
    assert kernel(np.array([1.0]), np.array([0.0])) == (1.0, np.inf)


@both(add_near)
@given(st.floats(1e-9, 0.2), st.integers(0, 2**32 - 1))
def test_add_near__is_above_and_close(kernel, size, seed):
    arrays, rng = Arrays(seed), np.random.default_rng(seed)
    potentials = size / 3 * rng.uniform(-1.0, 1.0, len(arrays.targets))
    own = rng.uniform(0.0, 2.0, len(arrays.targets))
    moves, out = np.empty(40), np.empty(NUMBERS)
    kernel(arrays.reference, arrays.index, arrays.offsets, potentials, own, 1e-15, 0.1, 0, 40, moves, out)
    upper, gap = exact_proof(arrays, moves, np.zeros(40), potentials, own)
    w = moves / arrays.reference
    assert moves == pytest.approx(arrays.reference * (arrays.coefficients.T @ potentials), rel=1e-12, abs=1e-18)
    assert upper <= Decimal(out[2] * (1 + 1e-12)) <= upper * Decimal("1.02")
    assert gap <= Decimal(0.5 * out[3]) <= 2 * gap + Decimal("1e-28")
    wanted = [np.abs(moves).sum(), (moves * w).sum(), np.abs(moves + 0.1 * arrays.reference).sum()]
    assert out[[0, 1, 4]] == pytest.approx(wanted, rel=1e-12)
    assert out[[5, 6]] == pytest.approx([(1 / arrays.reference).sum(), moves.sum() + 0.1], rel=1e-11)
    assert out[[7, 10]] == pytest.approx([np.abs(w).max(), -arrays.reference.min()], rel=1e-12)
    assert np.abs(np.log1p(w) - arrays.coefficients.T @ potentials).max() <= out[8] <= 2 * size
    assert out[9] == pytest.approx(UNIT * (5 + (arrays.coefficients.T @ own).max()), rel=1e-12)


@both(add_near)
def test_add_near__says_where_a_mass_is_0(kernel):
    index, offsets, out = np.zeros((1, 2), dtype=np.uint8), np.array([0, 1]), np.empty(NUMBERS)
    kernel(np.array([1.0, 0.0]), index, offsets, np.ones(1), np.zeros(1), 0.0, 0.0, 0, 2, np.empty(2), out)
    assert out[5] == np.inf
    assert out[10] == 0.0
