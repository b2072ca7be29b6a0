"""Tables from and to files: formats, checks of paths, content hashes, atomic writes."""
