"""The table of what the capture does in versions of torch that lack an internal."""

from __future__ import annotations

import tomllib
from pathlib import Path

from docs.generate.sections import between, table

TABLE = Path(__file__).parents[1] / "reference" / "torch-versions.toml"
_BEGIN = "<!-- internals: generated -->\n"
_END = "<!-- end -->"


def with_internals(document: str) -> str:
    """Return the document with the table of internals that not all versions have."""
    content = tomllib.loads(TABLE.read_text())
    rows: list[tuple[str, ...]] = [
        (", ".join(f"`{_short(name)}`" for name in row["names"]), _versions(row), row["without"])
        for row in content["changed"]
    ]
    heads = ("internal", "in torch", "elsewhere")
    return between(document, _BEGIN, "\n" + table(heads, rows) + "\n", _END)


def _versions(row: dict[str, str]) -> str:
    if "since" not in row:
        return f"up to {row['until']}"
    return f"{row['since']} to {row['until']}" if "until" in row else f"from {row['since']}"


def _short(name: str) -> str:
    """Return a mangled name as in a source, and a dotted one as it is."""
    if not name.startswith("_Z"):
        return name
    parts: list[str] = []
    rest = name.lstrip("_ZNK")
    while rest[:1].isdigit():
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        rest = rest[len(digits) :]
        parts.append(rest[: int(digits)])
        rest = rest[int(digits) :]
    return "::".join(parts) + "()"
