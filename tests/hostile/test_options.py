"""Functions x options that cannot be: refused with the option, what came, and what is wanted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import purtensor as pt
from tests.hostile.callables import PUR, ROLES, plain

NAMED = (pt.PurtensorError,)


def along(attribute, values):
    return pt.Marginal(pd.Series(values).rename_axis(attribute).to_xarray())


def project(**options):
    return lambda: pt.project(plain(), PUR, **options)


REFUSED = {
    "project: no constraint": (lambda: pt.project(plain(), []), "no constraint"),
    "project: a table for a constraint": (lambda: pt.project(plain(), plain()), "Marginal"),
    "project: None for constraints": (lambda: pt.project(plain(), None), "NoneType"),
    "project: text for constraints": (lambda: pt.project(plain(), "y s"), "str"),
    "project: nested too deep": (lambda: pt.project(plain(), [[[PUR[0]]]]), "list|tuple"),
    "project: solver by name": (project(solver="IPF"), "'IPF'"),
    "project: solver class": (project(solver=pt.IPF), "IPF"),
    "project: tolerance negative": (project(tolerance=-1e-9), "tolerance.*-1e-09"),
    "project: tolerance NaN": (project(tolerance=np.nan), "tolerance.*nan"),
    "project: tolerance text": (project(tolerance="small"), "tolerance.*small"),
    "project: tolerance None": (project(tolerance=None), "tolerance.*None"),
    "project: stop_on": (project(stop_on="luck"), "stop_on.*luck"),
    "project: max_iterations negative": (project(max_iterations=-1), "max_iterations.*-1"),
    "project: max_iterations fraction": (project(max_iterations=2.5), "max_iterations.*2.5"),
    "project: max_iterations text": (project(max_iterations="9"), "max_iterations.*9"),
    "project: max_seconds zero": (project(max_seconds=0), "max_seconds.*0"),
    "project: max_seconds NaN": (project(max_seconds=np.nan), "max_seconds.*nan"),
    "project: max_seconds text": (project(max_seconds="1"), "max_seconds.*1"),
    "project: on_failure": (project(on_failure="ignore"), "on_failure.*ignore"),
    "project: on_failure unhashable": (project(on_failure=["raise"]), "on_failure"),
    "project: start": (project(start=[1, 2, 3]), "start"),
    "project: start a number": (project(start=3), "start"),
    "project: callback": (project(callback=3), "callback.*3"),
    "IPF: order": (project(solver=pt.IPF(order=(0, 1))), "order"),
    "IPF: order repeated": (project(solver=pt.IPF(order=(0, 0, 1))), "order"),
    "IPF: relaxation": (lambda: pt.IPF(relaxation=2.0), "relaxation.*2.0"),
    "IPF: relaxation NaN": (lambda: pt.IPF(relaxation=float("nan")), "relaxation.*nan"),
    "IPF: acceleration": (lambda: pt.IPF(acceleration="fast"), "acceleration.*fast"),
    "IPF: acceleration negative": (lambda: pt.IPF(acceleration=-2), "acceleration.*-2"),
    "LBFGS: memory": (lambda: pt.LBFGS(memory=0), "memory.*0"),
    "targets: another total": (
        lambda: pt.project(plain(), [along("y", {"no": 1.0, "yes": 1.0}), PUR[0]]),
        "totals are 2 and 32",
    ),
    "targets: shared marginal": (
        lambda: pt.project(plain(), [along("y", {"no": 16.0, "yes": 16.0}), PUR[1]]),
        "y=no|y=yes",
    ),
    "targets: unknown attribute": (lambda: pt.project(plain(), along("age", {"old": 1.0})), "'age'"),
    "targets: unknown category": (lambda: pt.project(plain(), along("y", {"no": 1.0, "maybe": 1.0})), "maybe"),
    "targets: missing category": (lambda: pt.project(plain(), along("y", {"no": 1.0})), "yes"),
    "targets: booleans for text": (lambda: pt.project(plain(), along("y", {False: 1.0, True: 1.0})), "False|True"),
    "targets: integers for text": (
        lambda: pt.project(plain(x=["1", "2", "3"]), along("x", {1: 1.0, 2: 1.0, 3: 1.0})),
        "x=1",
    ),
    "targets: booleans for integers": (
        lambda: pt.project(plain(y=[0, 1]), along("y", {False: 1.0, True: 1.0})),
        "False|True",
    ),
    "marginal: none": (lambda: pt.marginal(plain(), []), "total"),
    "marginal: unknown": (lambda: pt.marginal(plain(), ["y", "age"]), "'age'"),
    "marginal: twice": (lambda: pt.marginal(plain(), ["y", "y"]), "'y'"),
    "marginal: a number": (lambda: pt.marginal(plain(), [0]), "0"),
    "marginal: an axis": (lambda: pt.marginal(plain(), 0), "0"),
    "marginal: None": (lambda: pt.marginal(plain(), None), "None"),
    "marginals_of: none": (lambda: pt.marginals_of(plain(), []), "no scope"),
    "marginals_of: empty scope": (lambda: pt.marginals_of(plain(), [()]), "empty"),
    "marginals_of: unknown": (lambda: pt.marginals_of(plain(), "y age"), "'age'"),
    "marginals_of: formula": (lambda: pt.marginals_of(plain(), "~ y^s"), r"\^"),
    "marginals_of: a number": (lambda: pt.marginals_of(plain(), 3), "int"),
    "regularize: negative": (lambda: pt.regularize(plain(), -1, response="y"), "strength.*-1"),
    "regularize: NaN": (lambda: pt.regularize(plain(), np.nan, response="y"), "strength.*nan"),
    "regularize: infinite": (lambda: pt.regularize(plain(), np.inf, response="y"), "strength.*inf"),
    "regularize: text": (lambda: pt.regularize(plain(), "1", response="y"), "strength.*1"),
    "regularize: unknown response": (lambda: pt.regularize(plain(), response="z"), "'z'"),
    "regularize: no response": (lambda: pt.regularize(plain(), response=[]), "response"),
    "regularize: support": (lambda: pt.regularize(plain(), response="y", support="all"), "support.*all"),
    "regularize: total": (lambda: pt.regularize(plain(), response="y", total=7), "total"),
    "regularize: total of nothing": (lambda: pt.regularize(plain(), response="y", total=0), "total.*0"),
    "regularize: probabilities": (lambda: pt.regularize(plain() / 32, response="y"), "probabilities"),
    "regularize: counts outside": (
        lambda: pt.regularize(plain(), response="y", support=plain().where(plain() > 1, 0.0)),
        "y=no, s=m, x=c|profile",
    ),
    "pur: unknown response": (lambda: pt.pur(plain(), response="z", protected="s"), "'z'"),
    "pur: unknown protected": (lambda: pt.pur(plain(), response="y", protected="sex"), "'sex'"),
    "pur: response protected": (lambda: pt.pur(plain(), response="y", protected="y"), "'y'"),
    "pur: nothing protected": (lambda: pt.pur(plain(), response="y", protected=[]), "protected"),
    "pur: conditions": (lambda: pt.pur(plain(), **ROLES, conditions="PQ"), "PQ|'Q'"),
    "pur: no condition": (lambda: pt.pur(plain(), **ROLES, conditions=""), "conditions"),
    "pur: condition twice": (lambda: pt.pur(plain(), **ROLES, conditions="PP"), "PP"),
    "pur: conditions in small": (lambda: pt.pur(plain(), **ROLES, conditions="pur"), "pur"),
    "pur: conditions None": (lambda: pt.pur(plain(), **ROLES, conditions=None), "None"),
    "sample: negative": (lambda: pt.sample(plain(), -1, seed=1), "-1"),
    "sample: fraction": (lambda: pt.sample(plain(), 2.5, seed=1), "2.5"),
    "sample: text": (lambda: pt.sample(plain(), "3", seed=1), "3"),
    "sample: boolean": (lambda: pt.sample(plain(), True, seed=1), "True"),
    "sample: seed None": (lambda: pt.sample(plain(), 3, seed=None), "seed.*None"),
    "sample: seed negative": (lambda: pt.sample(plain(), 3, seed=-1), "seed.*-1"),
    "sample: seed text": (lambda: pt.sample(plain(), 3, seed="a"), "seed.*a"),
    "sample: too many": (lambda: pt.sample(plain(), 2**70, seed=1), str(2**70)),
    "sample_without_replacement: too many": (lambda: pt.sample_without_replacement(plain(), 33, seed=1), "33"),
    "sample_without_replacement: fractions": (
        lambda: pt.sample_without_replacement(plain() / 3, 3, seed=1),
        "y=no, s=f",
    ),
    "to_records: fractions": (lambda: pt.to_records(plain() / 3), "y=no, s=f"),
    "round_counts: negative": (lambda: pt.round_counts(plain(), -3), "-3"),
    "round_counts: fraction": (lambda: pt.round_counts(plain(), 3.5), "3.5"),
    "predict: unknown response": (lambda: pt.predict(plain(), plain(), response="z"), "'z'"),
    "predict: unseen": (lambda: pt.predict(plain(), plain(), response="y", unseen="guess"), "guess"),
    "predict: another attribute": (lambda: pt.predict(plain(), plain().rename(x="z"), response="y"), "'x'|'z'"),
    "disparity: no reference": (lambda: pt.disparity_ratio(plain(), **ROLES, reference={}), "'s'|reference"),
    "disparity: unknown reference": (lambda: pt.disparity_ratio(plain(), **ROLES, reference={"s": "x"}), "'x'"),
    "disparity: too much": (lambda: pt.disparity_ratio(plain(), **ROLES, reference={"s": "m", "x": "a"}), "'x'"),
    "disparity: reference as text": (lambda: pt.disparity_ratio(plain(), **ROLES, reference="m"), "m"),
    "kl: other attributes": (lambda: pt.kl_divergence(plain(), plain().rename(x="z")), "'x'|'z'"),
    "kl: other categories": (lambda: pt.kl_divergence(plain(), plain(x=["a", "b", "d"])), "x=c|x=d|'x'|'d'|'c'"),
    "total_variation: a number": (lambda: pt.total_variation(plain(), 1.0), "float"),
    "relax: soft": (lambda: pt.relax(plain(), PUR, soft=7), "soft.*7"),
    "relax: nothing soft": (lambda: pt.relax(plain(), PUR, soft=[]), "soft"),
    "relax: penalty": (lambda: pt.relax(plain(), PUR, soft=0, penalty="l2"), "l2"),
    "relax: strength": (lambda: pt.relax(plain(), PUR, soft=0, strength=-1.0), "strength.*-1"),
    "relax: strength NaN": (lambda: pt.relax(plain(), PUR, soft=0, strength=np.nan), "strength.*nan"),
    "verify: no result": (lambda: pt.verify(plain()), "DataArray|Projection"),
    "save: no table": (lambda: pt.save({"a": 1}, "x.nc"), "dict"),
    "save: kind of file": (lambda: pt.save(plain(), "table.xlsx"), "table.xlsx"),
    "load: kind of file": (lambda: pt.load("table.pickle"), "table.pickle"),
    "problems.load: name": (lambda: pt.problems.load("zz"), "zz"),
    "to_dense: a dataset": (lambda: pt.to_dense(xr.Dataset()), "Dataset"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_options__are_refused_by_name(case):
    call, culprit = REFUSED[case]
    with pytest.raises(NAMED, match=culprit):
        call()
