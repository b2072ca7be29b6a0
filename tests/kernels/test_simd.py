from __future__ import annotations

import numpy as np

from purtensor.kernels._jit import compiled
from purtensor.kernels.simd import WIDTH, distance, eight, larger, load, quotient, store
from tests.kernels.drawn import both


@compiled
def everything(a, b, out):
    one, other = load(a), load(b)
    store(out[0], one + other * 2.0)
    store(out[1], one - other)
    store(out[2], 0.5 * one)
    store(out[3], quotient(one, other, eight(7.0)))
    store(out[4], distance(one, other))
    store(out[5], larger(one, other))


both_forms = both(everything, "work")
A = np.arange(8.0)
B = np.array([0.0, 3.0, -1.0, 0.1, 5e-300, 2.0, 6.0, 1e300])


@both_forms
def test_octets__every_lane_has_the_bits_of_scalar_arithmetic(work):
    out = np.full((6, WIDTH), np.nan)
    work(A, B, out)
    expected = [
        [a + b * 2.0 for a, b in zip(A, B)],
        [a - b for a, b in zip(A, B)],
        [0.5 * a for a in A],
        [a / b if b > 0 else 7.0 for a, b in zip(A, B)],
        [abs(a - b) for a, b in zip(A, B)],
        [max(a, b) for a, b in zip(A, B)],
    ]
    assert out.tolist() == expected


@both_forms
def test_octets__a_nan_is_not_positive_and_not_larger(work):
    out = np.full((6, WIDTH), 0.0)
    with np.errstate(invalid="ignore"):
        work(A, np.full(8, np.nan), out)
    assert np.isnan(out[[0, 1, 4, 5]]).all()
    assert out[3].tolist() == [7.0] * 8
    work(np.full(8, np.nan), A, out)
    assert out[5].tolist() == A.tolist()


@both_forms
def test_store__writes_eight_values_only(work):
    out = np.full((6, WIDTH + 3), -1.0)
    work(np.append(A, 9.0), np.append(B, 9.0), out)
    assert (out[:, WIDTH:] == -1.0).all()
