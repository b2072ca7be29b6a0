"""The paper's studies and comparisons of solvers."""
