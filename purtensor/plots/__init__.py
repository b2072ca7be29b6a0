"""Pictures; the only importer of matplotlib."""
