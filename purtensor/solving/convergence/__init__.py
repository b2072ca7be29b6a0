"""How fast the sweeps of a problem converge, and how many are left."""
