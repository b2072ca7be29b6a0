"""A picture of many pairs of numbers as SVG text: a grid whose squares are the darker the more pairs they hold."""

from __future__ import annotations

import math

import numpy as np

from purtensor._typing import FloatArray

_GRID = 48
_SIDE = 420
_LEFT, _BOTTOM, _TOP, _RIGHT = 64, 46, 10, 14
_INK, _FAINT, _BLUE, _LINE = "#222", "#ddd", "#0072B2", "#D55E00"


def density_svg(across: FloatArray, up: FloatArray, *, x: str, y: str) -> str:
    """Return a picture of pairs of numbers that are not negative, with the line on which both are equal.

    Its size does not depend on how many pairs there are.

    Parameters
    ----------
    across, up
        The two numbers of each pair.
    x, y
        What they are.

    Examples
    --------
    >>> import numpy as np
    >>> picture = density_svg(np.array([1.0, 1.0, 3.0]), np.array([1.0, 1.0, 2.0]), x="before", y="after")
    >>> picture.count("<rect"), "2 of 3" in picture
    (2, True)
    """
    most_across, most_up = _round_up(float(across.max())), _round_up(float(up.max()))
    column = np.minimum((across / most_across * _GRID).astype(np.int64), _GRID - 1)
    row = np.minimum((up / most_up * _GRID).astype(np.int64), _GRID - 1)
    counts = np.bincount(column * _GRID + row, minlength=_GRID**2).reshape(_GRID, _GRID)
    cell = _SIDE / _GRID
    # the root keeps single pairs visible beside squares of thousands
    darkness = 0.12 + 0.88 * np.sqrt(counts / counts.max())
    squares = [
        f'<rect x="{_LEFT + i * cell:.1f}" y="{_TOP + _SIDE - (j + 1) * cell:.1f}" width="{cell:.1f}" '
        f'height="{cell:.1f}" fill="{_BLUE}" fill-opacity="{darkness[i, j]:.2f}">'
        f"<title>{counts[i, j]} of {len(up)}</title></rect>"
        for i, j in zip(*map(np.ndarray.tolist, np.nonzero(counts)), strict=True)
    ]
    end = min(most_across, most_up)
    width, height = _LEFT + _SIDE + _RIGHT, _TOP + _SIDE + _BOTTOM
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
            f'font-size="12" fill="{_INK}">',
            *_axis(most_across, upright=False),
            *_axis(most_up, upright=True),
            *squares,
            f'<line x1="{_LEFT}" y1="{_TOP + _SIDE}" x2="{_LEFT + end / most_across * _SIDE:.1f}" '
            f'y2="{_TOP + _SIDE - end / most_up * _SIDE:.1f}" stroke="{_LINE}" stroke-dasharray="5 4"/>',
            f'<text x="{_LEFT + _SIDE / 2}" y="{height - 8}" text-anchor="middle">{x}</text>',
            f'<text transform="translate(14 {_TOP + _SIDE / 2}) rotate(-90)" text-anchor="middle">{y}</text>',
            "</svg>",
        ]
    )


def _axis(most: float, *, upright: bool) -> list[str]:
    """Return the ticks of an axis from 0 to `most`, with their grid lines."""
    step = _step(most)
    parts = []
    for k in range(math.floor(most / step * (1 + 1e-9)) + 1):
        at = k * step / most * _SIDE
        x, y = (_LEFT, _TOP + _SIDE - at) if upright else (_LEFT + at, _TOP + _SIDE)
        to = f'x2="{_LEFT + _SIDE}" y2="{y:.1f}"' if upright else f'x2="{x:.1f}" y2="{_TOP}"'
        place = f'x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end"'
        if not upright:
            place = f'x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle"'
        parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" {to} stroke="{_FAINT}"/><text {place}>{k * step:.6g}</text>')
    return parts


def _step(most: float) -> float:
    """Return a distance of ticks, 1, 2 or 5 times a power of ten, that makes four to ten of them."""
    power = 10.0 ** math.floor(math.log10(most))
    return next(step for step in (0.1 * power, 0.2 * power, 0.5 * power, power) if most / step <= 10.0)


def _round_up(most: float) -> float:
    """Return the next tick from a maximum on; 1 for 0."""
    if most <= 0.0:
        return 1.0
    step = _step(most) / 2.0
    return math.ceil(most / step - 1e-9) * step
