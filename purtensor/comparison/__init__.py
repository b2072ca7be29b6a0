"""Solvers compared on the same problems, under one stopping rule, one trace and one budget."""
