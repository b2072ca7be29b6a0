"""Kinds of columns: what a cell or a slack costs, each kind in a file of its own."""
