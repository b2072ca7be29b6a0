"""Verdicts of linear programs: they agree with ours, in kind and in the zeros."""

from __future__ import annotations

import pytest

from benchmarks.verdicts import JUDGES, NAMES, verdicts


@pytest.mark.parametrize("name", NAMES)
def test_verdicts__agree(name):
    (_, ours, zeros, _), *others = verdicts(name)
    told = {judge: (verdict, found) for judge, verdict, found, _ in others}
    assert set(told) == set(JUDGES)
    for verdict, found in told.values():
        assert verdict.startswith("needs") or (verdict == ours and found in (-1, zeros))
    assert told["facial sets"] == (ours, zeros)


def test_verdicts__of_all_three_kinds_are_among_them():
    assert {next(verdicts(name))[1] for name in NAMES} == {"interior", "boundary", "infeasible"}
