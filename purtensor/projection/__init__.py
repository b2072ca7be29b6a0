"""The information projection: problem, solvers, stopping, certificate, trace, result."""
