"""Replace the part of a document between two marks."""

from __future__ import annotations


def between(document: str, begin: str, text: str, end: str) -> str:
    """Return the document with ``text`` between its marks. Raises ValueError without them."""
    before, mark, rest = document.partition(begin)
    _, closing, after = rest.partition(end)
    if not mark or not closing:
        raise ValueError(f"{begin.strip()} or {end.strip()} is missing")
    return before + begin + text + end + after


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table; a bar within a cell is escaped."""
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )
