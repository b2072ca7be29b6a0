"""Other packages' calling shapes, so that one changed import is all it takes to switch."""

from purtensor.compat import ipfn as ipfn
from purtensor.compat import mipfp as mipfp

__all__ = ["ipfn", "mipfp"]
