"""Projections of tables larger than memory, slab by slab, as map and reduce on dask.

What projects, judges, verifies, saves and loads them is imported when it is first used: tables in memory need none.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
