"""How a projection uses the verdict on feasibility: asked when the progress raises doubts, kept with the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from purtensor._typing import Table
from purtensor.constraints.marginals import Marginal
from purtensor.feasibility.diagnose import diagnose
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.memory_witness import finding_of
from purtensor.feasibility.verdict import Verdict, restricted
from purtensor.solving.problem import LabelledProblem


@dataclass(slots=True)
class Feasibility:
    """The verdict on one problem, found at most once, when it is asked for."""

    reference: Table
    constraints: Sequence[Marginal]
    diagnosis: Diagnosis | None = None

    def diagnosed(self) -> Diagnosis:
        """Return the diagnosis, made on the first call."""
        if self.diagnosis is None:
            self.diagnosis = diagnose(self.reference, self.constraints)
        return self.diagnosis

    def is_hopeless(self) -> bool:
        """Tell whether it is proved that no positive solution exists, so that the potentials diverge."""
        return self.diagnosed().verdict in (Verdict.BOUNDARY, Verdict.INFEASIBLE)

    def face(self, labelled: LabelledProblem) -> LabelledProblem:
        """Return the problem without its implied zeros: what is left has a positive solution."""
        diagnosis = self.diagnosed()
        keep = ~finding_of(diagnosis).zeros[labelled.profiles]
        arrays = restricted(labelled.arrays, np.asarray(keep))
        return replace(labelled, profiles=labelled.profiles[keep], arrays=arrays)


def explained(diagnosis: Diagnosis | None) -> str:
    """Return why a problem has no solution, as one text."""
    return Verdict.INFEASIBLE.sentence if diagnosis is None else str(diagnosis.explanation)
