"""Kernels of iterative proportional fitting and its kin: steps, sweeps, and their stopping."""
