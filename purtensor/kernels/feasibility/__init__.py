"""Kernels of feasibility: flows and sums over certificates."""
