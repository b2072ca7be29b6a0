"""Reports as one page of HTML; the only importer of jinja2."""
