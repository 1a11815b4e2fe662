"""The package's modules, and their syntax trees: each is parsed once for all tests of a process."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "tb_privateuse1"
FILES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
"""The file of each module, by its name without the package's."""


@functools.cache
def tree(source: str) -> ast.Module:
    """Return the syntax tree of a source. Tests share it: do not change it."""
    return ast.parse(source)


@functools.cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a source."""
    return tuple(ast.walk(tree(source)))
