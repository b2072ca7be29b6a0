"""Pictures; the only importer of matplotlib. Each function returns axes, whose figure `save_figure` writes.

Needs the extra `plot`.
"""

import lazy_loader

from purtensor._optional import require_package

require_package("matplotlib", "plot", "figures need")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
