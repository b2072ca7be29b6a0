"""Projections with rows and bounds of any kind: one dual, one solver, one certificate (notes/one_dual.md)."""
