"""Embedded data sets and loaders."""
