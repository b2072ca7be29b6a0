"""Kinds of columns: the cost functions of cells and slacks, one file for each kind."""
