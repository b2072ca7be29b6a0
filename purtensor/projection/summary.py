"""What results tell about themselves, as text on a terminal and as a table in a notebook; empty facts are left out."""

from __future__ import annotations

import html
from collections.abc import Mapping


def facts_as_text(title: str, facts: Mapping[str, str]) -> str:
    """Return the title and the facts below it, one a line.

    Examples
    --------
    >>> print(facts_as_text("Projection", {"ending": "converged", "notes": ""}))
    <purtensor.Projection>
      ending: converged
    """
    return "\n".join([f"<purtensor.{title}>", *(f"  {name}: {value}" for name, value in facts.items() if value)])


def facts_as_html(title: str, facts: Mapping[str, str]) -> str:
    """Return a table with the title and one row a fact, in which no name or value acts as HTML.

    Examples
    --------
    >>> facts_as_html("Projection", {"missed of <b>": "0.5", "notes": ""})
    '<table><caption>purtensor.Projection</caption><tr><th>missed of &lt;b&gt;</th><td>0.5</td></tr></table>'
    """
    rows = (
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in facts.items() if value
    )
    return f"<table><caption>purtensor.{html.escape(title)}</caption>{''.join(rows)}</table>"
