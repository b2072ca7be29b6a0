"""Tables on disk that do not fit in memory, in Zarr."""
