"""The rest of disparity falls as the sets grow."""

from __future__ import annotations

import purtensor as pt
from purtensor.studies.sample_size import rest_by_size
from purtensor.studies.wage import study_wage


def test_rest_by_size__falls_to_chance() -> None:
    study = study_wage(pt.datasets.census_wage(), "CPS 1994-95", sets=60, seed=4, workers=2)
    found = rest_by_size(study, factors=(1, 16), workers=2)
    assert found["size"].tolist() == [16_888, 16 * 16_888]
    assert found["rms z"][0] > 1.3  # systematic
    assert found["rms z"][1] < 1.4  # chance: 1 up to the spread of 28 independent numbers
    assert found["unseen"][0] > 0.001 > found["unseen"][1]
