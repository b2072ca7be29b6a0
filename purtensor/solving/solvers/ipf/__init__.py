"""Iterative proportional fitting and its forms: plain, by slabs, in groups, in the log domain, over-relaxed."""
