"""How fast iterative proportional fitting converges, and why: before a solve, and at its answer."""

from purtensor.convergence.forecasting import Forecast, forecast
from purtensor.convergence.linearised import predict
from purtensor.convergence.observing import ObservedRate, observed_rate
from purtensor.convergence.prediction import Prediction, WeakLink
from purtensor.projection.convergence import ConvergenceRate, convergence_rate
from purtensor.projection.tuning import BestOrder, BestRelaxation, best_order, best_relaxation
from purtensor.solving.convergence.trend import SweepsToGo, Trend

__all__ = [
    "BestOrder",
    "BestRelaxation",
    "ConvergenceRate",
    "Forecast",
    "ObservedRate",
    "Prediction",
    "SweepsToGo",
    "Trend",
    "WeakLink",
    "best_order",
    "best_relaxation",
    "convergence_rate",
    "forecast",
    "observed_rate",
    "predict",
]
