"""Projections of tables larger than memory, slab by slab, as map and reduce on dask."""
