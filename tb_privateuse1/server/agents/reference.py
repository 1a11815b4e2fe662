"""The reference that comes with the package: the skill, the definitions, the tables of SQL."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Any

from msgspec import Struct

from tb_privateuse1.export.trace_tables import COLUMNS, schema
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

_MOST_MATCHES = 40
_LONGEST_TERM = 200


class Section(Struct, frozen=True):
    """A section of the definitions."""

    slug: str
    title: str
    text: str


def skill() -> str:
    """Return the skill: how an agent gets from a slow run to a verified fix."""
    return _packaged("skill.txt")


@functools.cache
def sections() -> tuple[Section, ...]:
    """Return the sections of the definitions, in their order."""
    found = []
    for part in re.split(r"^## ", _packaged("definitions.txt"), flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        found.append(Section(slug, title.strip(), text.strip()))
    return tuple(found)


def define(term: str) -> dict[str, Any]:
    """Return the paragraphs and rows of the definitions that name a term, exact names first.

    Raises TraceError ``unknown_term``.
    """
    wanted = term.strip().lower()[:_LONGEST_TERM]
    exact: list[dict[str, str]] = []
    loose: list[dict[str, str]] = []
    for section in sections():
        for block in _blocks(section.text):
            if not wanted or wanted not in block.lower():
                continue
            match = {"section": section.title, "text": block}
            (exact if f"`{wanted}`" in block.lower() else loose).append(match)
    if not exact and not loose:
        message = say("The definitions do not name {term!r}.", term=wanted)
        hint = say("The sections are: {names}.", names=", ".join(s.title for s in sections()))
        raise TraceError("unknown_term", message, hint)
    return {"term": wanted, "matches": [*exact, *loose][:_MOST_MATCHES]}


def sql_tables(table: str | None = None) -> dict[str, Any]:
    """Return the tables that SQL can ask, with their columns. Raises TraceError ``bad_option``."""
    if table is not None and table not in COLUMNS:
        message = say("There is no table {name!r}.", name=table[:_LONGEST_TERM])
        raise TraceError(
            "bad_option", message, say("There are: {names}.", names=", ".join(COLUMNS))
        )
    tables = [
        {"name": name, "columns": [_column(name, column) for column in described]}
        for name, described in COLUMNS.items()
        if table in (None, name)
    ]
    return {"tables": tables}


def sql_text() -> str:
    """Return the tables that SQL can ask, as Markdown."""
    lines = []
    for name, columns in COLUMNS.items():
        lines += ["", f"## {name}", ""]
        lines += [f"- `{c}` ({_column(name, c)['type']}): {about}" for c, about in columns.items()]
    return "\n".join(lines[1:])


def section_text(section: Section) -> str:
    """Return a section of the definitions with its title."""
    return f"## {section.title}\n\n{section.text}"


def _column(table: str, column: str) -> dict[str, str]:
    kind = str(schema(table).field(column).type)
    return {"name": column, "type": kind, "meaning": COLUMNS[table][column]}


def _blocks(text: str) -> list[str]:
    """Return the rows of tables and the paragraphs of a text."""
    blocks: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.split("\n")
        if lines[0].startswith("|"):
            blocks += [line for line in lines if not re.match(r"^\|[-| ]+\|$", line)]
        else:
            blocks.append(" ".join(lines))
    return blocks


def _packaged(name: str) -> str:
    return (resources.files("tb_privateuse1.server.agents") / "texts" / name).read_text(
        encoding="utf-8"
    )
