"""Where a problem's numbers live; the algorithms are written once over these."""
