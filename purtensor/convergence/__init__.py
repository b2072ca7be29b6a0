"""How fast iterative proportional fitting converges, and why: before a solve, and at its answer."""

from purtensor.convergence.forecasting import Forecast, forecast
from purtensor.convergence.linearised import predict
from purtensor.convergence.prediction import Prediction, WeakLink
from purtensor.projection.convergence import convergence_rate as convergence_rate
from purtensor.projection.tuning import best_order as best_order
from purtensor.projection.tuning import best_relaxation as best_relaxation

__all__ = ["Forecast", "Prediction", "WeakLink", "forecast", "predict"]
