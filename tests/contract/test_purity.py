"""Views and analyses are pure functions of a Trace: they read no file and no environment."""

from __future__ import annotations

import ast

import pytest

from tests.support.sources import FILES, nodes

ROOMS = ("trace", "inference", "analysis", "advice", "views")
EDGES = (
    "advice.user_rules",
    "trace.user_code",
    "views.user_models",
    "inference.device_timeline.launching_operators",
    "views.reader",
    "views.computations",
    "views.sources",
)
"""Modules of these rooms that read files or the environment; all others are pure."""
FORBIDDEN = {"os", "pathlib", "io", "shutil", "tempfile", "glob", "subprocess", "socket", "fsspec"}


def within(module: str, names: tuple[str, ...]) -> bool:
    """Whether a module is one of these, or in a package of these."""
    return any(module == name or module.startswith(name + ".") for name in names)


def impure(source: str) -> list[str]:
    """What of a source reads more than its arguments."""
    found = []
    for node in nodes(source):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.partition(".")[0] in FORBIDDEN]
        elif isinstance(node, ast.ImportFrom):
            names = {node.module or "", *(f"{node.module}.{a.name}" for a in node.names)}
            top = (node.module or "").partition(".")[0]
            edges = {
                f"tb_privateuse1.{edge}" for edge in ("vendors.user_file", "advice.user_rules")
            }
            found += sorted(names & edges) + ([top] if top in FORBIDDEN else [])
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("open", "__import__"):
            found.append(ast.unparse(node.func))
    return found


PURE = [module for module in FILES if module.split(".")[0] in ROOMS and not within(module, EDGES)]


@pytest.mark.long
def test_a_view_or_an_analysis_reads_its_arguments_only() -> None:
    found = {module: impure(FILES[module].read_text()) for module in PURE}
    assert {module: reads for module, reads in found.items() if reads} == {}


def test_no_edge_is_listed_in_vain() -> None:
    assert len(PURE) > 100
    assert [edge for edge in EDGES if edge not in FILES] == []


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "import os.path as p",
        "from pathlib import Path",
        "def f():\n    return open('x')",
        "from tb_privateuse1.advice import user_rules",
        "from tb_privateuse1.vendors.user_file import chosen",
    ],
)
def test_the_test_finds_what_reads_more(source: str) -> None:
    assert len(impure(source)) == 1
