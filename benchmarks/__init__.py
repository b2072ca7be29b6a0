"""Benchmarks of purtensor: an asv suite, the loops that users would write instead, and a script of figures."""
