from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import purtensor as pt
from purtensor.errors import InvalidOptionError
from purtensor.solving.convergence.trend import SweepsToGo, Trend, fall_per_sweep, likely_left, sweeps_left, trend_of

SWEEPS = np.arange(1, 2001)


@pytest.mark.parametrize(
    ("residuals", "trend"),
    [
        (0.99**SWEEPS, Trend.LINEAR),
        (0.3 / SWEEPS + 0.4 * 0.9**SWEEPS, Trend.SUBLINEAR),
        (SWEEPS**-2.0, Trend.SUBLINEAR),
        (0.03 + 0.1 * 0.9**SWEEPS, Trend.FLAT),
        (np.full(2000, np.nan), Trend.OPEN),
    ],
    ids=["factor", "1 / n", "1 / n^2", "plateau", "nothing"],
)
def test_trend_of__known_laws(residuals, trend):
    assert trend_of(SWEEPS, residuals) is trend


def test_trend_of__few_sweeps_say_nothing():
    assert trend_of(SWEEPS[:20], 0.9 ** SWEEPS[:20]) is Trend.OPEN


@pytest.mark.parametrize(
    ("name", "trend"), [("staircase", Trend.SUBLINEAR), ("b", Trend.LINEAR), ("b_inf", Trend.FLAT)]
)
def test_trend_of__real_runs(name, trend):
    problem = pt.problems.load(name)
    seen = []
    pt.project(
        problem.reference,
        problem.constraints,
        solver=pt.IPF(),
        max_iterations=4000 if name == "b" else 900,
        on_failure="return",
        certificate=False,
        callback=lambda progress: seen.append((progress.iteration, progress.residual)),
    )
    assert trend_of(*zip(*seen)) is trend


def told(watch, residuals):
    for n, residual in residuals:
        watch(SimpleNamespace(iteration=n, residual=residual))
    return watch


def test_sweeps_to_go__is_exact_for_a_factor():
    watch = told(SweepsToGo(tolerance=1e-8), [(n, 0.9**n) for n in (1, 2, 4, 8, 16, 32, 64)])
    assert watch.left == pytest.approx(8 / -math.log10(0.9) - 64)


def test_sweeps_to_go__is_exact_for_a_power():
    watch = told(SweepsToGo(tolerance=1e-5), [(2**k, 2.0**-k) for k in range(10)])
    assert watch.trend is Trend.SUBLINEAR
    assert watch.left == pytest.approx(1e5 - 512)


def test_sweeps_to_go__begins_anew_with_another_run():
    watch = told(SweepsToGo(tolerance=1e-8), [(1, 1e-3), (2, 1e-9)])
    assert watch.left == 0.0
    assert told(watch, [(1, 0.1)]).left == math.inf


def test_sweeps_to_go__refuses_a_tolerance_that_is_none():
    with pytest.raises(InvalidOptionError, match="tolerance"):
        SweepsToGo(tolerance=0.0)


def test_sweeps_left__has_no_end_where_nothing_falls():
    assert sweeps_left([(10, 0.1), (20, 0.1)], 1e-10, Trend.FLAT) == math.inf


def test_fall_per_sweep__begins_at_the_nearest_line_before():
    seen = [(2, 1.0), (4, 0.25), (8, 0.0625)]
    assert fall_per_sweep(seen, 4) == pytest.approx(math.log(4) / 4)
    assert fall_per_sweep(seen, 7) == pytest.approx(math.log(4) / 4)
    assert fall_per_sweep(seen, 0) == pytest.approx(math.log(16) / 6)  # none before: the first
    assert fall_per_sweep(seen, 8) == 0.0
    assert fall_per_sweep([(1, 0.1), (2, 0.2)], 1) == 0.0
    assert fall_per_sweep([(1, 0.1), (2, 0.0)], 1) == 0.0


def test_text__says_what_is_likely_once_enough_was_seen():
    lines = [(n, 0.9**n) for n in (1, 2, 4, 8, 16, 32, 64)]
    assert told(SweepsToGo(tolerance=1e-8), lines[:4]).text == ""
    assert told(SweepsToGo(tolerance=1e-8), lines).text == "about 110 to 550 more iterations are likely"
    watch = SweepsToGo(tolerance=1e-8)
    watch.take([0, *(n for n, _ in lines)], [1.0, *(residual for _, residual in lines)])
    assert watch.likely == told(SweepsToGo(tolerance=1e-8), lines).likely


def test_likely_left__knows_less_the_fewer_sweeps_were_made():
    widths = []
    for made in (1, 50, 200, 1000):
        lower, upper = likely_left(made, 1000.0, Trend.LINEAR)
        assert lower < 1000.0 < upper
        widths.append(upper / lower)
    assert widths == sorted(widths, reverse=True)
    assert likely_left(100, 1e6, Trend.SUBLINEAR) == (0.0, 1e6)
    assert likely_left(100, math.inf, Trend.LINEAR) == (0.0, math.inf)
