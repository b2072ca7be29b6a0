"""Kernels of exact ranks: forests, peeling, elimination modulo a prime."""
