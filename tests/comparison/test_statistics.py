"""What is said of a family of problems: against the textbook's numbers, and on a comparison."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.comparison.certified import time_to_certified
from purtensor.comparison.statistics import compare_pairs, growth


def runs_of(columns, sizes=None):
    return pd.DataFrame(
        [
            (f"p{k}", solver, True, seconds, (sizes or range(1, 100))[k])
            for solver, own in columns.items()
            for k, seconds in enumerate(own)
        ],
        columns=["problem", "solver", "converged", "seconds", "profiles"],
    )


def test_paired__all_of_n_pairs_on_one_side_have_the_exact_p_value():
    base = np.linspace(1.0, 2.0, 8)
    found = compare_pairs(
        runs_of({"one": base, "two": base * np.linspace(1.1, 3.0, 8), "same": base}), "one", "seconds"
    )
    two, same = found.itertuples()
    assert (two.solver, two.problems, two.better) == ("two", 8, 0)
    assert two.p == pytest.approx(2 / 2**8)  # one test only: "same" never differs, and has none
    assert math.isnan(same.p)
    assert two.low == pytest.approx(1.1)  # of 8 the least and the largest: the median is between them with 99.2 %
    assert two.high == pytest.approx(3.0)
    assert same.ratio == 1.0


def test_paired__p_values_are_raised_for_several_solvers():
    base = np.linspace(1.0, 2.0, 8)
    columns = {"one": base, "two": base * np.linspace(1.1, 3.0, 8), "three": base * np.linspace(1.1, 3.0, 8)}
    assert compare_pairs(runs_of(columns), "one", "seconds")["p"].tolist() == pytest.approx([4 / 2**8] * 2)


def test_growth__is_the_power_of_the_size():
    sizes = [10, 100, 1000, 10_000]
    columns = {"square": [size**2 for size in sizes], "root": [size**0.5 for size in sizes]}
    found = growth(runs_of(columns, sizes), "seconds")
    assert found["power"].tolist() == pytest.approx([2.0, 0.5])
    few = growth(runs_of({"one": [1.0, 2.0]}, [1, 2]), "seconds")
    assert math.isnan(few["power"].iloc[0])


def test_runs__tell_how_far_each_table_is_from_the_exact_projection():
    compared = pt.compare("b", ["ipf", "newton"], repetitions=0)
    swept, stepped = compared.runs.itertuples()
    problem = pt.problems.load("b")
    exact = pt.project(problem.reference, problem.constraints, tolerance=1e-13).table
    loose = pt.project(problem.reference, problem.constraints, solver=pt.IPF()).table
    assert swept.tv == pytest.approx(pt.total_variation(loose, exact), rel=1e-3)
    assert swept.log_ratio == pytest.approx(float(abs(np.log(loose / exact)).max()), rel=1e-3)
    assert swept.residual < 1e-10 < 1e-3 < swept.log_ratio  # a rare profile is off by far more than any target
    assert stepped.log_ratio < 1e-5


def test_time_to_certified__of_log_ratios_takes_a_smaller_tolerance():
    levels, how = (
        [10.0, 1e-9, 1e-30],
        {"repetitions": 1, "clock": "processor"},
    )  # ten times as long, whoever else computes
    told = time_to_certified("b_lam0", ["newton"], measure="log_ratio", levels=levels, tolerances=[1e-3, 1e-13], **how)
    assert told["tolerance"].tolist()[0] == 1e-3
    assert told["tolerance"].tolist()[1] == 1e-13
    assert told["seconds"].notna().tolist() == [True, True, False]
    with pytest.raises(pt.InvalidOptionError, match="measure"):
        time_to_certified("a", "ipf", measure="misses")


def test_compared__refuses_unknown_names():
    compared = pt.compare("a", "ipf", repetitions=0)
    with pytest.raises(pt.InvalidOptionError, match="no solver 'newton'"):
        compared.paired("newton")
    with pytest.raises(pt.InvalidOptionError, match="measure"):
        compared.growth("minutes")


def test_warm__has_the_same_answer_and_begins_near_it():
    cold, warm = pt.problems.load("b_lam0"), pt.problems.warm("b_lam0")
    answers = [pt.project(one.reference, one.constraints, tolerance=1e-13).table for one in (cold, warm)]
    assert pt.total_variation(*answers) < 1e-12
    begun = [pt.total_variation(one.reference, answers[0]) for one in (cold, warm)]
    assert begun[1] < 0.02 * begun[0]
    records = pt.problems.generate("records", seed=1, profiles=200)
    near = pt.problems.warm(records, change=0.1)
    assert near.masses.shape == records.masses.shape
    assert pt.project(near.reference, near.constraints).converged
    with pytest.raises(pt.InvalidOptionError, match="change must be a share"):
        pt.problems.warm("a", change=0.0)
