"""What calls return or left on disk, and what is worked out of a projection: log-linear parameters, closed forms.

Log-linear models of counts are fitted and compared here too.

`Projection`, `Diagnosis`, `Verdict`, `Verification` and `Progress` are at the root.
"""

from purtensor.calibration.result import Calibration
from purtensor.comparison.result import Comparison
from purtensor.constraints.marginals import StoredMarginal
from purtensor.inference.delta_method import StandardErrors
from purtensor.inference.log_linear import LogLinearFit, compare_log_linear, fit_log_linear
from purtensor.projection.family import closed_form, evaluate, log_linear_parameters
from purtensor.projection.many import Ensemble
from purtensor.projection.relaxation import Relaxation
from purtensor.records.inspection import Inspection
from purtensor.sampling.bootstrap import Bootstrap
from purtensor.solving.termination import Termination
from purtensor.tables.store.table import StoredTable, open_table

__all__ = [
    "Bootstrap",
    "Calibration",
    "Comparison",
    "Ensemble",
    "Inspection",
    "LogLinearFit",
    "Relaxation",
    "StandardErrors",
    "StoredMarginal",
    "StoredTable",
    "Termination",
    "closed_form",
    "compare_log_linear",
    "evaluate",
    "fit_log_linear",
    "log_linear_parameters",
    "open_table",
]
