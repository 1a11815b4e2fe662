"""Views and analyses are pure functions of a Trace: they read no file and no environment."""

from __future__ import annotations

import ast

import pytest

from tests.contract.test_layers import MODULES, place

FIRST = "trace"
"""The first line of the table of layers that is looked at."""
EDGES = (
    *("vendor_file", "rule_file", "pool", "processes", "remote", "discover", "files", "runs"),
    *("scanner", "read", "infer.timeline.launchers", "identity", "locks", "cachedir", "arrowfile"),
    *("cache", "pyramidfile", "ingest", "jobs", "kept", "failures", "store", "export", "sql_child"),
    *("sql", "schema", "static_files", "perfetto_ui", "routes", "plugin", "notebook", "loader"),
    *("cli", "prepared", "query", "reading"),
)
"""What reads files, the environment, or starts processes; all else is pure."""
FORBIDDEN = {"os", "pathlib", "io", "shutil", "tempfile", "glob", "subprocess", "socket", "fsspec"}


def within(module: str, names: tuple[str, ...]) -> bool:
    """Whether a module is one of these, or in a package of these."""
    return any(module == name or module.startswith(name + ".") for name in names)


def impure(source: str) -> list[str]:
    """What of a source reads more than its arguments."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.partition(".")[0] in FORBIDDEN]
        elif isinstance(node, ast.ImportFrom):
            names = {node.module or "", *(f"{node.module}.{a.name}" for a in node.names)}
            top = (node.module or "").partition(".")[0]
            edges = {f"tb_privateuse1.{edge}" for edge in ("vendor_file", "rule_file")}
            found += sorted(names & edges) + ([top] if top in FORBIDDEN else [])
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("open", "__import__"):
            found.append(ast.unparse(node.func))
    return found


PURE = [
    module
    for module in MODULES
    if (where := place(module)) is not None
    and where >= (place(FIRST) or where)
    and not within(module, EDGES)
]


@pytest.mark.parametrize("module", PURE)
def test_a_view_or_an_analysis_reads_its_arguments_only(module: str) -> None:
    assert impure(MODULES[module]) == []


def test_views_rules_and_analyses_are_looked_at() -> None:
    looked_at = {"views.kernels", "lookups.links", "rules.item_sync", "rankrules.slow_link"}
    looked_at |= {"describe", "case", "advisor", "bottleneck", "replay", "infer.facts", "trace"}
    assert looked_at <= set(PURE)


def test_no_edge_is_listed_in_vain() -> None:
    assert [edge for edge in EDGES if not any(within(m, (edge,)) for m in MODULES)] == []


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "import os.path as p",
        "from pathlib import Path",
        "def f():\n    return open('x')",
        "from tb_privateuse1 import rule_file",
        "from tb_privateuse1.vendors.user_file import chosen",
    ],
)
def test_the_test_finds_what_reads_more(source: str) -> None:
    assert len(impure(source)) == 1
