"""Each number of the rooms that judge says where it comes from, in a docstring or a comment.

A constant of a module says it; a number that a function compares with is a constant of its module.
What a word says is for people to judge; that there is one is checked here.
"""

from __future__ import annotations

import ast
import io
import math
import tokenize
from collections.abc import Callable, Iterator

import pytest

from tests.support.sources import PACKAGE, nodes, tree

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
    body = tree(source).body
    behind: list[ast.stmt] = [*body[1:], ast.Pass()]
    beside, above = comments(source)
    for node, after in zip(body, behind, strict=True):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not is_number(node.value):
            continue
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if not is_text and node.lineno - 1 not in above and node.end_lineno not in beside:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield ast.unparse(target).strip("()")


def comments(source: str) -> tuple[set[int], set[int]]:
    """Return the lines with a comment, and those of nothing else."""
    if "#" not in source:
        return set(), set()
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found = [token for token in tokens if token.type == tokenize.COMMENT]
    alone = {token.start[0] for token in found if token.line.lstrip().startswith("#")}
    return {token.start[0] for token in found}, alone


LIMITS = {"min", "max", "maximum", "minimum", "clip"}
ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
DIVISIONS = (ast.Div, ast.FloorDiv, ast.Pow)
COUNT = 10
"""Integers below are numbers of things that the code itself spells out: two ends, three thirds."""


def thresholds(source: str) -> Iterator[str]:
    """Yield the numbers that values are compared with or limited to, by line."""
    for node in nodes(source):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ORDERS):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and name_of(node) in LIMITS:
            sides = node.args
        else:
            continue
        yield from (f"{n.lineno}: {n.value!r}" for side in sides for n in added(side))


def added(value: ast.expr) -> Iterator[ast.Constant]:
    """Yield the numbers of a sum or product, but counts, 0.5, divisors and units."""
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
        if value.value not in range(COUNT) and value.value != 0.5:
            yield value
    elif isinstance(value, ast.UnaryOp):
        yield from added(value.operand)
    elif isinstance(value, ast.Call) and name_of(value) == "abs":
        yield from added(value.args[0])
    elif isinstance(value, ast.BinOp):
        is_product = isinstance(value.op, ast.Mult)
        sides = (value.left,) if isinstance(value.op, DIVISIONS) else (value.left, value.right)
        yield from (n for side in sides for n in added(side) if not (is_product and is_unit(n)))


def is_unit(number: ast.Constant) -> bool:
    return math.log10(float(str(number.value))).is_integer()


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


def in_rooms(find: Callable[[str], Iterator[str]]) -> dict[str, str]:
    """Return what is found in the files of the rooms, by file."""
    return {
        str(path.relative_to(PACKAGE)): "; ".join(names)
        for room in ROOMS
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if (names := list(find(path.read_text())))
    }


@pytest.mark.long
def test_each_constant_says_where_it_comes_from() -> None:
    assert in_rooms(unexplained) == {}, "write it in a docstring behind the constant, or a comment"


@pytest.mark.long
def test_no_threshold_hides_in_a_function() -> None:
    assert in_rooms(thresholds) == {}, "make it a constant that says where it comes from"


def test_a_number_without_a_word_is_found() -> None:
    source = (
        "A = 3\nB, C = 1 << 20, -0.5\n'''Said.'''\n# Said.\nD = 4\nE: int = 5  # said\n"
        "F = (1, 2)\nG = 'text'\nH = True\nI = len\n"
    )
    assert list(unexplained(source)) == ["A", "F"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("share > 0.2 * all", ["2: 0.2"]),
        ("abs(ns - 900) <= max(jitter, 1_000)", ["2: 900", "2: 1000"]),
        ("np.maximum(ns, 2_000) + 12", ["2: 2000"]),
        ("1 <= value < 1 << 62", ["2: 62"]),
        ("0 <= share <= 1 and n >= 3 and share < 0.5 and n == 17", []),
        ("rate / 1e9 > 1000 * other and n**12 > LEAST", []),
    ],
)
def test_a_threshold_is_found(line: str, found: list[str]) -> None:
    assert sorted(thresholds(f"def f():\n    return {line}\n")) == sorted(found)
