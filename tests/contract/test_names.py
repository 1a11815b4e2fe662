"""One name for one thing at every door; ``python -m tests.contract.test_names`` lists them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_privateuse1.api import Log
from tb_privateuse1.cli.commands import COMMANDS
from tb_privateuse1.cli.commands import RENAMED as RENAMED_COMMANDS
from tb_privateuse1.server.agents.tools import TOOLS
from tb_privateuse1.trace.findings import TableName
from tb_privateuse1.trace.model import TABLES
from tb_privateuse1.views import VIEWS, methods
from tb_privateuse1.views.lookups import LOOKUPS
from tb_privateuse1.views.request import RENAMED as RENAMED_VIEWS
from tests.support.sources import PACKAGE

ROOT = Path(__file__).parents[2]
FRONTEND = ROOT / "frontend" / "src"
RESULTS = {*VIEWS, *LOOKUPS}
"""What has a result: a name here is its name at every door."""
ACTIONS = {"event", "export", "sql", "record", "report"}
"""What is no view, and is at more than one door."""
OTHER_TOOLS = {"list_runs", "sql_tables", "definition", "picture"}
"""Of agents alone: HTTP has ``runs``, pages draw, and documents define."""
NO_PAGE = {
    "quality": "recording",
    "method": "recording",
    "serving": "overview",
    "compilation": "overview",
}
"""Views that are sections of a page: its name."""
ONLY_PAGES = {"sql", "recording"}
"""Pages without a view."""


def _keys(file: str, declaration: str) -> set[str]:
    """Return the keys of an object or interface in a TypeScript file, one a line."""
    text = (FRONTEND / file).read_text()
    body = text[text.index(declaration) :]
    return set(re.findall(r"^  (\w+)\??:", body[: body.index("\n}")], re.MULTILINE))


def _headings(document: str) -> set[str]:
    text = (ROOT / "docs" / document).read_text()
    return set(re.findall(r"^## (.+)$", text, re.MULTILINE))


def _routes() -> set[str]:
    text = (ROOT / "docs" / "reference" / "http.md").read_text()
    return set(re.findall(r"^\| (?:POST )?`([a-z_]+)", text, re.MULTILINE))


def doors() -> dict[str, set[str]]:
    """Return the names of results and actions at each door."""
    options = json.loads((PACKAGE / "cli" / "options.json").read_text())
    documented = _headings("reference/options.md")
    pages = _keys("pages/index.ts", "const OF_VIEWS")
    return {
        "HTTP": RESULTS | (_routes() & ACTIONS),
        "page": (pages & RESULTS) | set(NO_PAGE),
        "URL keys": _keys("pages/url-keys.ts", "export const PAGE_KEYS") & RESULTS,
        "types": _keys("api/types.ts", "export interface Views"),
        "command": set(COMMANDS) & (RESULTS | ACTIONS),
        "view NAME": set(options),
        "MCP": {tool.name for tool in TOOLS} & (RESULTS | ACTIONS),
        "Python": {*dir(methods.ViewMethods()), *dir(Log)} & (RESULTS | ACTIONS),
        "options.md": documented,
        "pages.md": _headings("guide/pages.md"),
    }


def test_every_result_has_its_name_at_the_doors_that_have_all() -> None:
    found = doors()
    for door in ("HTTP", "view NAME", "options.md"):
        assert found[door] - ACTIONS == RESULTS, door
    for door in ("page", "Python", "pages.md"):
        assert found[door] - ACTIONS == set(VIEWS), door


def test_no_door_has_a_name_of_its_own() -> None:
    actions_of_cli = {
        "view", "baseline", "scalars", "ingest", "mcp", "agents", "cache", "merge", "demo",
        "try", "new-backend", "take-away", "stacks",
    }  # fmt: skip
    assert set(COMMANDS) - RESULTS - ACTIONS == actions_of_cli
    assert {tool.name for tool in TOOLS} - RESULTS - ACTIONS == OTHER_TOOLS
    pages = _keys("pages/index.ts", "const OF_VIEWS")
    assert pages - RESULTS == set()
    assert _keys("pages/url-keys.ts", "export const PAGE_KEYS") - RESULTS == ONLY_PAGES
    assert set(VIEWS) - pages == set(NO_PAGE)
    public = {name for name in vars(Log) if not name.startswith("_")}
    assert public - ACTIONS == {"runs", "reload", "trace"}


def test_tools_and_commands_of_a_view_answer_with_it() -> None:
    """A tool's or command's name says which view it prints: no second word for one thing."""
    for tool in TOOLS:
        if tool.kind == "view":
            assert tool.name in RESULTS | ACTIONS, tool.name
    for name in set(COMMANDS) & set(VIEWS):
        text = (PACKAGE / "cli" / f"{name}.py").read_text()
        assert re.search(rf"from tb_privateuse1\.views\.{name} import {name}$", text, re.MULTILINE)


def test_tables_of_events_are_those_of_sql() -> None:
    tables = set(TableName.__args__)  # type: ignore[attr-defined]
    assert tables <= set(TABLES)


def test_old_names_lead_to_names_that_are_there() -> None:
    assert set(RENAMED_COMMANDS.values()) <= set(COMMANDS)
    assert not set(RENAMED_COMMANDS) & set(COMMANDS)
    assert set(RENAMED_VIEWS.values()) <= RESULTS
    assert not set(RENAMED_VIEWS) & RESULTS


BRITISH = re.compile(
    r"colou?r(?<=our)|utilis|normalis|summaris|synchronis|cancell|behaviour|labell|serialis|"
    r"centre|grey|optimis|initialis|recognis|organis|minimis|maximis|favour|neighbour|licence|"
    r"quantis|tokenis|vectoris|parallelis(?!m)|modell|analys(?!is|es\b|t)|artefact",
    re.IGNORECASE,
)


def public_names() -> Iterator[tuple[str, str]]:
    """Yield (door, name): what a user can write or read as a name."""
    for door, names in doors().items():
        yield from ((door, name) for name in names)
    options = json.loads((PACKAGE / "cli" / "options.json").read_text())
    for view, about in options.items():
        yield from ((f"option of {view}", option["name"]) for option in about["options"])
    types = (FRONTEND / "api" / "types.ts").read_text()
    yield from (("field or type", name) for name in re.findall(r"\b[A-Za-z_]\w*\b(?=\??:)", types))
    yield from (("value", name) for name in re.findall(r'"(\w+)"', types))


def test_public_names_are_spelled_as_in_american() -> None:
    assert sorted({pair for pair in public_names() if BRITISH.search(pair[1])}) == []


@pytest.mark.parametrize("name", ["utilisation", "colour", "cancelled", "modelled", "analyse"])
def test_british_spellings_are_found(name: str) -> None:
    assert BRITISH.search(name)


if __name__ == "__main__":
    found = doors()
    for thing in sorted(RESULTS | ACTIONS):
        print(f"{thing:18}", *(door if thing in names else "-" for door, names in found.items()))
