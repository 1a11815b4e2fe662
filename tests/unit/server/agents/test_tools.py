"""Tools of the MCP server: names, schemas, options of views."""

from __future__ import annotations

import json

import pytest

from tb_privateuse1.server.agents.tools import MOST_BYTES, TOOLS, Tool, schema, tool_named
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.lookups import LOOKUPS
from tb_privateuse1.views.request import view_named
from tb_privateuse1.views.signature import options_of


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_has_a_schema_and_a_description(tool: Tool) -> None:
    made = schema(tool)
    json.dumps(made)
    assert made["additionalProperties"] is False
    assert set(made["required"]) <= set(made["properties"])
    assert 40 < len(tool.about) < 300
    assert made["properties"]["max_bytes"]["maximum"] == MOST_BYTES


def test_names_are_unique_and_views_exist() -> None:
    names = [tool.name for tool in TOOLS]
    assert len(names) == len(set(names))
    views = {tool.name for tool in TOOLS if tool.kind == "view"} - {"event"}
    assert views <= {*VIEWS, *LOOKUPS}
    assert tool_named("nothing") is None


def test_a_view_gives_its_tool_all_options() -> None:
    made = schema(tool_named("kernels") or TOOLS[0])["properties"]
    for option in options_of(view_named("kernels")):
        assert made[option["name"]]["description"] == option["help"]
    assert made["group"]["enum"] == ["operator", "name", "launch"]
    assert made["short_ns"] == {
        "type": "integer",
        "description": "kernels that take less than this count as short",
        "default": 10000,
    }
    assert "base_run" not in made
    assert "base_run" in schema(tool_named("diff") or TOOLS[0])["properties"]


def test_the_list_of_tools_is_short() -> None:
    """An agent reads all of it before its first call."""
    assert sum(len(json.dumps(schema(tool))) + len(tool.about) for tool in TOOLS) < 27_000
