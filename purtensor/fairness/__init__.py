"""Parity, utility and realism; prediction and disparity."""
