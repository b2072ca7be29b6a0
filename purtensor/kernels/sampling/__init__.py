"""Kernels of sampling: rounding towards vertices."""
