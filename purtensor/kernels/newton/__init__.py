"""Kernels of Newton's equations: their assembly, elimination, line search and certificate sums."""
