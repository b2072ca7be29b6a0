"""Blocks of dense tables: copies, masses and sums, compiled and as plain Python, against numpy on whole arrays."""

from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.engine import engine
from purtensor.kernels.ipf.product_proof import prove_blocks
from purtensor.kernels.ipf.product_slabs import copy_blocks, leave_blocks, linear_sweep, write_masses
from purtensor.kernels.simd import WIDTH
from tests.kernels.drawn import plain

each_form = pytest.mark.parametrize("form", ["compiled", "plain"])


def called(kernel, form):
    def as_python(*arguments):
        with engine(plain=True):  # what it calls, too
            return plain(kernel)(*arguments)

    return kernel if form == "compiled" else as_python


def in_blocks(cells):
    """Shape (I, J, slabs) as (B, I, J, 8)."""
    rows, columns, slabs = cells.shape
    padded = np.zeros((rows, columns, -(-slabs // WIDTH) * WIDTH))
    padded[:, :, :slabs] = cells
    return np.ascontiguousarray(padded.reshape(rows, columns, -1, WIDTH).transpose(2, 0, 1, 3))


@pytest.fixture
def drawn():
    return np.random.default_rng(0)


@each_form
@pytest.mark.parametrize("slabs", [3, 8, 21])
def test_copy_blocks__and_back(form, slabs, drawn):
    cells = drawn.random((2, 3, slabs)) + 0.1
    base, out, back = np.full((-(-slabs // WIDTH), 2, 3, WIDTH), np.nan), np.empty(2), np.empty_like(cells)
    starts = slabs * np.arange(6).reshape(2, 3)
    called(copy_blocks, form)(cells.reshape(-1), starts, slabs, 1.0, 0, len(base), base, out)
    assert base.tolist() == in_blocks(cells).tolist()
    assert out == pytest.approx([cells.sum(), cells.min()], rel=1e-14)
    called(leave_blocks, form)(base, 2.0, 0, len(base), slabs, starts, back.reshape(-1))
    assert back.tolist() == (2.0 * cells).tolist()


@each_form
def test_copy_blocks__tells_what_is_no_number(form):
    for bad in (np.nan, -1.0, np.inf):
        cells = np.ones((2, 2, 19))
        cells[1, 0, 17] = bad
        base, out = np.empty((3, 2, 2, WIDTH)), np.empty(2)
        called(copy_blocks, form)(cells.reshape(-1), 19 * np.arange(4).reshape(2, 2), 19, 1.0, 0, 3, base, out)
        assert not (out[1] > 0 and out[0] < 1e300)


@each_form
def test_write_masses__and_a_linear_sweep_equal_whole_arrays(form, drawn):
    cells, u, v, theta = drawn.random((2, 3, 11)), drawn.random((2, 11)), drawn.random((3, 11)), drawn.random((2, 3))
    masses = cells * u[:, None] * v[None] * theta[:, :, None]
    targets_a, targets_b = drawn.random((2, 11)), drawn.random((3, 11))
    base, blocks = in_blocks(cells), 2
    blocked_a, blocked_b = in_blocks(targets_a[:, None])[:, :, 0], in_blocks(targets_b[None])[:, 0]
    sums_a, sums_b, sums, out = np.empty((2, 2, WIDTH)), np.empty((2, 3, WIDTH)), np.empty((2, 3)), np.empty(5)
    factors = in_blocks(u[:, None])[:, :, 0].copy(), in_blocks(v[None])[:, 0].copy()
    called(write_masses, form)(base, theta, *factors, blocked_a, blocked_b, 0, blocks, sums_a, sums_b, sums, out)
    assert base == pytest.approx(in_blocks(masses), rel=1e-14)
    assert sums == pytest.approx(masses.sum(axis=2), rel=1e-14)
    missed = [abs(masses.sum(axis=1) - targets_a), abs(masses.sum(axis=0) - targets_b)]
    assert out[:4] == pytest.approx([missed[0].max(), missed[1].max(), missed[0].sum(), missed[1].sum()], rel=1e-13)

    tilts, tilts_a, tilts_b, changed = drawn.random((2, 3)), np.zeros_like(sums_a), np.zeros_like(sums_b), sums.copy()
    found = called(linear_sweep, form)(
        base, tilts, blocked_a, blocked_b, sums_a, sums_b, 1.0, tilts_a, tilts_b, 0, blocks, changed
    )
    of_cells = masses * tilts[:, :, None]
    of_a = (targets_a - masses.sum(axis=1) - of_cells.sum(axis=1)) / masses.sum(axis=1)
    of_b = (targets_b - (masses * (1 + of_a[:, None]) + of_cells).sum(axis=0)) / masses.sum(axis=0)
    assert found == pytest.approx(
        max(abs(of_a * masses.sum(axis=1)).sum(), abs(of_b * masses.sum(axis=0)).sum()), rel=1e-12
    )
    whole = (masses * (of_a[:, None] + of_b[None]) + of_cells).sum(axis=2)
    assert changed == pytest.approx(whole, rel=1e-12)


@each_form
def test_prove_blocks__bounds_what_whole_arrays_have(form, drawn):
    masses = drawn.random((2, 3, 13)) + 0.1
    tilts, of_a, of_b = (1e-4 * drawn.standard_normal(shape) for shape in ((2, 3), (2, 13), (3, 13)))
    v = of_a[:, None] + of_b[None] + tilts[:, :, None]
    moved = masses * (1 + v)
    targets_a, targets_b = moved.sum(axis=1) * (1 + 1e-9), moved.sum(axis=0) * (1 - 1e-9)
    sums, rests, extra = np.empty((2, 3)), np.empty((2, 3)), np.full((2, 3), 1e-9)
    arguments = (
        in_blocks(masses),
        tilts,
        in_blocks(of_a[:, None])[:, :, 0],
        in_blocks(of_b[None])[:, 0],
        in_blocks(targets_a[:, None])[:, :, 0],
        in_blocks(targets_b[None])[:, 0],
    )
    out = np.empty((2, 8))
    called(prove_blocks, form)(*arguments, 4, False, extra, 1e-16, 0, 2, sums, rests, out[0])
    called(prove_blocks, form)(*arguments, 4, True, extra, 1e-16, 0, 1, np.empty((2, 3)), np.empty((2, 3)), out[1])
    assert sums == pytest.approx(moved.sum(axis=2), rel=1e-14)
    missed_a, missed_b = abs(moved.sum(axis=1) - targets_a), abs(moved.sum(axis=0) - targets_b)
    assert out[0, 6:] == pytest.approx([missed_a.sum(), missed_b.sum()], rel=1e-5)
    rest = np.zeros_like(masses)
    rest[0, :-1], rest[1:, -1] = missed_b[:-1], missed_a[1:]
    rest[0, -1] = missed_a[0] + missed_b[:-1].sum(axis=0)
    assert rests == pytest.approx(rest.sum(axis=2), rel=1e-5)
    rest[:, :, 4] += extra
    for w in (v + rest / masses, v - rest / masses):
        exact = (masses * ((1 + w) * np.log1p(w) - w)).sum()
        gap = (masses * ((1 + w) * (np.log1p(w) - v) - (1 + w) + np.exp(v))).sum()
        largest, upper, bound, size, total, left = out.max(axis=0)[0], *out.sum(axis=0)[1:6]
        assert largest >= abs(w).max()
        assert exact <= upper <= 1.01 * exact + 1e-15
        assert gap <= bound <= 1e-12
        assert size == pytest.approx(abs(masses * v).sum(), rel=1e-12)
        assert total == pytest.approx((masses * v).sum(), rel=1e-9)
        assert left == pytest.approx(rest.sum(), rel=1e-5)
