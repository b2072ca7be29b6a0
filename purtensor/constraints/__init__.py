"""Marginals that must hold, as labels and as sparse coefficients."""
