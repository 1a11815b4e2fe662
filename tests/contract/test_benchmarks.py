"""Benchmarks import names that exist: no other test runs them."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

from tests.support.sources import nodes

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FILES = sorted(BENCHMARKS.rglob("*.py"))
OURS = ("tb_privateuse1", "benchmarks", "tests")


def missing(source: str) -> list[str]:
    """Return the names of ours that a source imports and that do not exist."""
    wanted = []
    for node in nodes(source):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in OURS:
            wanted += [(str(node.module), alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.partition(".")[0] in OURS]
            wanted += [(name, "") for name in names]
    return [f"{module} {name}".strip() for module, name in wanted if not _exists(module, name)]


def _exists(module: str, name: str) -> bool:
    try:
        if importlib.util.find_spec(module) is None:
            return False
        inside = BENCHMARKS.parent / module.replace(".", "/") / name
        if not name or inside.with_suffix(".py").exists() or (inside / "__init__.py").exists():
            return True
        return hasattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        # A compiled or optional module is no question here.
        return (error.name or "").partition(".")[0] not in OURS


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(BENCHMARKS)))
def test_a_benchmark_imports_what_exists(path: Path) -> None:
    assert missing(path.read_text()) == []


@pytest.mark.parametrize("name", ["perfetto", "formats"])
def test_a_package_and_a_file_exist_before_anybody_imports_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(importlib.import_module("tb_privateuse1.export"), name, raising=False)

    assert missing(f"from tb_privateuse1.export import {name}") == []


@pytest.mark.parametrize(
    "source",
    [
        "from tb_privateuse1.advice.judged_trace import NoSuchName",
        "from tb_privateuse1.no_such_module import main",
        "import tb_privateuse1.no_such_module",
    ],
)
def test_a_name_that_does_not_exist_is_named(source: str) -> None:
    assert len(missing(source)) == 1
