"""Benchmark problems under fixed names."""
