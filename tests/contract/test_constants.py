"""Each numeric constant of the rooms that judge says where it comes from: a docstring or a comment.

What a word says is for people to judge; that there is one is checked here.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator

from tests.support.sources import PACKAGE

ROOMS = ("advice", "analysis", "inference")


def is_number(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(map(is_number, value.elts))
    if isinstance(value, ast.UnaryOp):
        return is_number(value.operand)
    return isinstance(value, ast.BinOp) and is_number(value.left) and is_number(value.right)


def unexplained(source: str) -> Iterator[str]:
    """Yield the module-level numeric constants with no docstring behind and no comment beside."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    beside = {token.start[0] for token in comments}
    above = {token.start[0] for token in comments if token.line.lstrip().startswith("#")}
    body = ast.parse(source).body
    behind: list[ast.stmt] = [*body[1:], ast.Pass()]
    for node, after in zip(body, behind, strict=True):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not is_number(node.value):
            continue
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if not is_text and node.lineno - 1 not in above and node.end_lineno not in beside:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield ast.unparse(target).strip("()")


def test_each_number_says_where_it_comes_from() -> None:
    found = {
        str(path.relative_to(PACKAGE)): "; ".join(names)
        for room in ROOMS
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if (names := list(unexplained(path.read_text())))
    }
    assert found == {}, "say in a docstring behind each, or a comment, where its number comes from"


def test_a_number_without_a_word_is_found() -> None:
    source = (
        "A = 3\nB, C = 1 << 20, -0.5\n'''Said.'''\n# Said.\nD = 4\nE: int = 5  # said\n"
        "F = (1, 2)\nG = 'text'\nH = True\nI = len\n"
    )
    assert list(unexplained(source)) == ["A", "F"]
