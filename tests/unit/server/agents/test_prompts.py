"""Prompts that the MCP server offers."""

from __future__ import annotations

import re

import pytest

from tb_privateuse1.server.agents.prompts import PROMPTS, Prompt, prompt_named
from tb_privateuse1.server.agents.tools import TOOLS


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
def test_a_prompt_is_filled(prompt: Prompt) -> None:
    given = {name: f"<{name}>" for name in prompt.arguments}
    assert all(value in prompt.filled(given) for value in given.values())
    assert "list_runs" in prompt.filled({})
    assert not re.search(r"{\w+}", prompt.filled({}))


def test_prompts_name_tools() -> None:
    names = {tool.name for tool in TOOLS}
    assert {"overview", "advice", "whatif", "diff"} <= names
    for prompt in PROMPTS:
        steps = re.findall(r"^\d\. ([a-z_]+)\b", prompt.text, re.MULTILINE)
        assert set(steps) & names
    assert prompt_named("nothing") is None
