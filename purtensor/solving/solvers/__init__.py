"""Solvers: each moves an iterate and nothing else."""
