"""What the numbers of the wage study say of the paper's claims."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from purtensor.studies.claims import (
    Claim,
    average_claim,
    lessened_claim,
    marginals_claim,
    removed_claim,
    utility_claim,
)
from purtensor.studies.simulated import CONVERGED, MODELS
from purtensor.studies.wage import WageStudy
from purtensor.studies.wage_numbers import means_of


def claims(study: WageStudy) -> list[Claim]:
    """Return the paper's claims with their verdicts.

    Each mean over the simulated sets is judged by its own standard error, the deviation over the root of the sets.
    """
    off_data = means_of(study, study.natural[:, MODELS.index("f")]).off
    natural = {name: means_of(study, study.natural[:, m]) for m, name in enumerate(MODELS)}
    told = [
        lessened_claim("P", "P alone lessens disparity on test data but does not remove it", natural["P"], off_data),
        lessened_claim(
            "PU", "P and U together lessen disparity on test data but do not remove it", natural["PU"], off_data
        ),
        removed_claim("PUR", "PUR removes disparity on test data up to sampling noise", natural["PUR"], off_data),
    ]
    pairs = study.utility_error[:, [MODELS.index("PUR"), MODELS.index("f")]]
    some = pairs[np.isfinite(pairs).all(axis=1)]
    if len(some) > 1:
        told.append(utility_claim(some[:, 0], some[:, 1]))
    return [*told, *_generated_claims(study), _marginals_claim(study)]


def _generated_claims(study: WageStudy) -> Iterator[Claim]:
    off_data = means_of(study, study.generated["f"]).off
    for name, values in study.generated.items():
        if name != "f":
            statement = f"Data generated from {name} have parity on average"
            yield average_claim(name, statement, means_of(study, values), off_data)


def _marginals_claim(study: WageStudy) -> Claim:
    simulated = study.members["marginal_miss"][study.members["ending"] == CONVERGED]
    own = [projection.residual for projection in study.projections.values()]
    return marginals_claim(np.append(simulated, own), len(simulated) + len(own))
