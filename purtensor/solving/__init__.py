"""Solving on arrays: the problem, the loop, the solvers, the Hessian in its forms, the certificate."""
