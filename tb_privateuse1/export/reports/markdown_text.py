"""Text from a trace in Markdown: escaped words, code and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tb_privateuse1.i18n.units import plain_text

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$-])")
"""Characters with a meaning in Markdown: text from a trace must be literal."""


def escaped(words: str) -> str:
    """Return words that Markdown shows as they are."""
    return _SPECIAL.sub(r"\\\1", plain_text(words))


def code(text: str) -> str:
    """Return a text as code; characters that would end it are replaced."""
    literal = plain_text(text).replace("|", "\\|").replace("`", "'")
    return f"`{literal}`"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table: numbers between a name and a last column of words."""
    lines = [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 2)}---|"]
    return lines + [f"| {' | '.join(cells)} |" for cells in rows]
