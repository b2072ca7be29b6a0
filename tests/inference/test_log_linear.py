"""Log-linear models: published figures, R's, and exact ranks where the maximum lies on the boundary."""

from __future__ import annotations

import math

import numpy as np
import pytest

import purtensor as pt
from purtensor.results import compare_log_linear, fit_log_linear
from tests.published.test_reference_fits import FITS, counts_of

NAMED = {"UCBAdmissions.csv": 4526, "HairEyeColor.csv": 592, "Titanic.csv": 2201, "Rochdale.csv": 665}
CHOSEN = [fit for fit in FITS if fit["file"] in NAMED]


@pytest.mark.parametrize("fit", CHOSEN, ids=[f"{fit['file'][:-4]} {fit['model'][:30]}" for fit in CHOSEN])
def test_fit__is_that_of_loglin(fit):
    found = fit_log_linear(counts_of(fit["file"]), "~ " + fit["margins"])
    assert found.deviance == pytest.approx(float(fit["G2"]), abs=6e-9)
    assert found.size == NAMED[fit["file"]]
    assert found.zeros == int(fit["fitted_zeros"])
    if found.zeros == 0:
        assert found.degrees_of_freedom == int(fit["df"])
        assert found.pearson == pytest.approx(float(fit["X2"]), abs=6e-9)
    else:
        assert found.degrees_of_freedom < int(fit["df"])
    assert found.parameters + found.degrees_of_freedom + found.zeros == found.table.size


def test_fit__admissions_have_the_published_test():
    """Agresti: sex matters little given department, G2 = 21.7 and 20.2, a difference of 1.5 on one degree."""
    counts = counts_of("UCBAdmissions.csv")
    models = ["~ Admit*Dept + Gender*Dept", "~ Admit*Gender + Admit*Dept + Gender*Dept", "~ Admit + Gender + Dept"]
    found = compare_log_linear([fit_log_linear(counts, model) for model in models])
    assert found["degrees of freedom"].tolist() == [16, 6, 5]
    assert found["deviance"].round(1).tolist() == [2097.7, 21.7, 20.2]
    assert found["less deviance"].iloc[2] == pytest.approx(21.73550678 - 20.20427533, abs=1e-7)
    assert found["on"].tolist()[1:] == [10.0, 1.0]
    assert found["p of less"].iloc[2] == pytest.approx(math.erfc(math.sqrt(1.53123145 / 2)), rel=1e-6)
    assert found["aic"].diff().iloc[2] == pytest.approx(2.0 - 1.53123145, abs=1e-7)
    assert found["bic"].diff().iloc[2] == pytest.approx(math.log(4526) - 1.53123145, abs=1e-7)


def test_fit__on_the_boundary_counts_what_is_positive():
    """2 x 2 x 2 with zeros at opposite corners: all pairs are met by the counts alone (Haberman)."""
    values = np.arange(1.0, 9.0).reshape(2, 2, 2)
    values[0, 0, 0] = values[1, 1, 1] = 0.0
    counts = pt.as_table(values, {name: [0, 1] for name in "abc"})
    found = fit_log_linear(counts, "~ a*b + a*c + b*c")
    assert (found.degrees_of_freedom, found.parameters, found.zeros) == (0, 6, 2)
    assert found.deviance == pytest.approx(0.0, abs=1e-9)
    assert math.isnan(found.p_value)
    assert "2 profiles are fitted as zero" in repr(found)
    smaller = fit_log_linear(counts, "~ a*b + a*c")
    compared = compare_log_linear([found, smaller])
    assert np.isnan(compared["less deviance"]).all()  # they fit different profiles as zero


def test_fit__layouts_and_order_do_not_matter():
    counts = counts_of("HairEyeColor.csv")
    dense = fit_log_linear(counts, "~ Hair*Eye + Sex")
    sparse = fit_log_linear(pt.to_sparse(counts), "~ Sex + Eye*Hair")
    assert sparse.table.dims == ("profile",)
    for name in ("deviance", "pearson", "aic", "bic", "p_value"):
        assert getattr(sparse, name) == pytest.approx(getattr(dense, name), rel=1e-9)


def test_fit__structural_zeros_are_no_cells():
    values = np.array([[0.0, 5.0, 3.0], [4.0, 0.0, 6.0], [2.0, 7.0, 0.0]])
    counts = pt.as_table(values, {"a": [0, 1, 2], "b": [0, 1, 2]})
    quasi = fit_log_linear(counts, "~ a + b", support="observed")
    plain = fit_log_linear(counts, "~ a + b")
    assert quasi.degrees_of_freedom == 1  # six cells, five parameters
    assert plain.degrees_of_freedom == 4
    assert quasi.deviance < plain.deviance


def test_compare__models_that_are_not_nested_are_not_tested():
    counts = counts_of("HairEyeColor.csv")
    found = compare_log_linear([fit_log_linear(counts, model) for model in ("~ Hair*Sex + Eye", "~ Hair*Eye + Sex")])
    assert np.isnan(found["p of less"]).all()
    assert found.index.tolist() == ["[Hair Sex][Eye]", "[Hair Eye][Sex]"]


def test_fit__refuses_probabilities_and_other_counts():
    counts = counts_of("HairEyeColor.csv")
    with pytest.raises(pt.InvalidTableError, match="must have counts of individuals"):
        fit_log_linear(pt.empirical(counts), "~ Hair + Eye")
    with pytest.raises(pt.UnknownAttributeError):
        fit_log_linear(counts, "~ Hair + Nose")
    with pytest.raises(pt.InvalidOptionError, match="different"):
        compare_log_linear([fit_log_linear(counts, "~ Hair"), fit_log_linear(2 * counts, "~ Hair")])
    with pytest.raises(pt.InvalidOptionError, match="at least one fit by"):
        compare_log_linear([])
