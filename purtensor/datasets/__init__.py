"""Embedded data sets and loaders, as tables of counts."""

from purtensor.datasets.census_income import census_wage
from purtensor.datasets.pay_gap import gender_pay_gap
from purtensor.datasets.uci_adult import adult

__all__ = ["adult", "census_wage", "gender_pay_gap"]
