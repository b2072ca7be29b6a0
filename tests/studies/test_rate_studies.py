"""Studies of convergence: the counts of the shared benchmark page, and the law behind them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

import purtensor as pt
from purtensor.problems.named import NamedProblem
from purtensor.studies import rate_studies as module
from purtensor.studies.rate_studies import COLUMNS, MOST_SWEEPS, STUDIES, TOLERANCES, study_rate, sweeps_to


def page(sweeps: int) -> int:
    """The benchmark page rounds counts of three digits and more up to multiples of 32 (notes/ipf.md)."""
    return -(-sweeps // 32) * 32


def test_study_rate__lambda_has_the_counts_of_the_benchmark_page() -> None:
    # "sweeps to 1e-10: 0: 90; 1e-6: 12,992; 1e-4: 7,072; 1e-2: 172; 1: 15", of problem b
    told = {0.0: 90, 1e-6: 12_992, 1e-4: 7_066, 1e-2: 172, 1.0: 15}
    found = study_rate("lambda", values=list(told), max_sweeps=20_000)
    assert tuple(found.columns) == COLUMNS
    counts = found[found["tolerance"] == 1e-10].set_index("value")["sweeps"]
    assert counts.to_dict() == told
    assert page(told[1e-4]) == 7_072
    assert found.loc[found["value"] == 1e-6, "sweeps"].isna().sum() == 1  # to 1e-12 it takes more
    rates = found.drop_duplicates("value").set_index("value")["sweeps_per_decade"]
    # pseudo-counts make it slow in proportion: the rate is that of masses which are proportional to lambda
    assert rates[1e-6] / rates[1e-4] == pytest.approx(100.0, rel=0.01)
    assert rates[0.0] < 20
    assert "x=72" in found.set_index("value").loc[1e-4, "slowest"].iloc[0]


def test_study_rate__lambda_is_worst_between_1e_6_and_1e_5() -> None:
    posed = {value: pt.problems.variant("b", strength=value) for value in (1e-7, 3e-6, 1e-4)}
    counts = {value: sweeps_to(problem, 1e-10, 60_000) for value, problem in posed.items()}
    assert counts[3e-6] == max(counts.values()) > 40_000


def test_study_rate__of_size_and_granularity_hold_problem_b() -> None:
    for name, value in (("size", 45_000), ("granularity", 210)):
        assert value in STUDIES[name].values
        found = study_rate(name, values=[value])
        assert found["sweeps"].tolist() == [15, 7_066, 16_527]
        assert found["profiles"].tolist() == [5_735] * 3
        assert found["pseudo_count_share"].iloc[0] == pytest.approx(0.225, abs=0.001)


def test_study_rate__more_records_take_fewer_sweeps() -> None:
    seen: list[int] = []
    found = study_rate("size", values=[3_000, 300_000], on_value=seen.append)
    few, many = found[found["tolerance"] == 1e-10]["sweeps"]
    assert few > 100 * many
    assert seen == [1, 2]


def test_study_rate__refuses_what_it_does_not_know() -> None:
    with pytest.raises(pt.InvalidOptionError, match="lambda, size, granularity"):
        study_rate("color")
    with pytest.raises(pt.InvalidOptionError, match="no simulated problem"):
        study_rate("size", problem="staircase")
    for values in ([], iter(()), 0.1):
        with pytest.raises(pt.InvalidOptionError, match="values must be one or more for strength"):
            study_rate("lambda", problem="a", values=values)  # type: ignore[arg-type]


def test_sweeps_to__is_none_beyond_the_limit() -> None:
    assert sweeps_to(pt.problems.load("a"), 1e-10, 10) is None
    assert sweeps_to(pt.problems.load("a"), 1e-10) == 19 < MOST_SWEEPS


def test_study_rate__after_ctrl_c_gives_back_the_values_that_were_done(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = study_rate("lambda", problem="a", values=[1.0, 1e-1, 1e-2])
    assert "interrupted" not in whole.attrs
    plain = module.variant

    def interrupting(problem: str, **options: float) -> NamedProblem:
        if options["strength"] == 1e-1:
            raise KeyboardInterrupt
        return plain(problem, **options)

    monkeypatch.setattr(module, "variant", interrupting)
    found = study_rate("lambda", problem="a", values=[1.0, 1e-1, 1e-2])
    assert found.attrs["interrupted"] == "by the user; not done: 0.1, 0.01"
    assert found["value"].tolist() == [1.0] * len(TOLERANCES)
    pd.testing.assert_frame_equal(found, whole[whole["value"] == 1.0])


def test_study_rate__a_projection_that_heard_ctrl_c_is_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its sweeps would be told as missing, as if there had been too many, and the study would go on."""

    class Interrupted(pt.IPF):
        def step(self, *arguments: object) -> object:
            raise KeyboardInterrupt

    monkeypatch.setattr(pt, "IPF", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweeps_to(pt.problems.load("a"), 1e-10)
    with pytest.raises(KeyboardInterrupt):  # nothing is done: there is nothing to give back
        study_rate("lambda", problem="a", values=[1.0, 1e-1])


def test_study_rate__executors_change_no_number() -> None:
    values = [1e-2, 1.0, 1e-1]
    one = study_rate("lambda", problem="a", values=values)
    with ThreadPoolExecutor(3) as executor:
        pd.testing.assert_frame_equal(study_rate("lambda", problem="a", values=values, executor=executor), one)
    assert one["value"].tolist() == [value for value in values for _ in TOLERANCES]


def test_study_rate__a_value_that_fails_is_told_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = module.variant

    def failing(problem: str, **options: float) -> NamedProblem:
        if options["strength"] == 1e-2:
            raise pt.InfeasibleError("no distribution")
        return plain(problem, **options)

    monkeypatch.setattr(module, "variant", failing)
    found = study_rate("lambda", problem="a", values=[1.0, 1e-2]).set_index("value")
    assert found.loc[1e-2, "failure"].tolist() == ["InfeasibleError: no distribution"] * len(TOLERANCES)
    assert found.loc[1e-2, "sweeps"].isna().all()
    assert found.loc[1.0, "failure"].tolist() == [""] * len(TOLERANCES)
    assert found.loc[1.0, "sweeps"].notna().all()
