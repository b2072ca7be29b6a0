"""Pictures; the only importer of matplotlib. Each function returns axes, whose figure `save_figure` writes.

Needs the extra `plot`.
"""

from importlib.util import find_spec

import lazy_loader

if find_spec("matplotlib") is None:
    raise ImportError("figures need the package matplotlib: pip install 'purtensor[plot]'", name="matplotlib")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
