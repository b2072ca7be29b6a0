"""PUR inside scikit-learn: a classifier, row weights, synthetic rows, and bins. Needs the extra `sklearn`."""

try:
    import sklearn as _sklearn  # noqa: F401
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "purtensor.sklearn needs scikit-learn: pip install 'purtensor[sklearn]'", name="sklearn"
    ) from missing

from purtensor.sklearn.binner import Binner
from purtensor.sklearn.classifier import PURClassifier
from purtensor.sklearn.resampler import PURResampler
from purtensor.sklearn.reweigher import PURReweigher

__all__ = ["Binner", "PURClassifier", "PURResampler", "PURReweigher"]
