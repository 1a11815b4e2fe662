"""What the package says: its calls, and what the names in them were given before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.sources import PACKAGE, tree

Scope = dict[str, list[ast.expr]]
"""What the names of a function, and of its module, are given."""


def scoped() -> Iterator[tuple[str, ast.Call, Scope]]:
    """Yield all calls of the package, each with its place and its scope."""
    for file in sorted(PACKAGE.rglob("*.py")):
        name, module = str(file.relative_to(PACKAGE)), tree(file.read_text("utf-8"))
        for call, scope in within(module, {}):
            yield f"{name}:{call.lineno}", call, scope


def within(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.Call, Scope]]:
    """The calls in a module or a function, each with what the names around it are given."""
    own, inner, found = dict(scope), [], []
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        child = waiting.pop()
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inner.append(child)
            continue
        if isinstance(child, ast.Call):
            found.append(child)
        for target, value in _given(child):
            before = own.get(target)
            outer = before is scope.get(target)
            own[target] = [value] if outer else [*(before or ()), value]
        waiting += ast.iter_child_nodes(child)
    yield from ((call, own) for call in found)
    for function in inner:
        yield from within(function, own)


def _given(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if len(names) == len(values):
                pairs = zip(names, values, strict=True)
                yield from ((n.id, v) for n, v in pairs if isinstance(n, ast.Name))
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name):
        if node.value is not None:
            yield node.target.id, node.value
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, ast.BinOp(node.target, node.op, node.value)


def called(call: ast.Call) -> str:
    at = call.func
    return at.id if isinstance(at, ast.Name) else at.attr if isinstance(at, ast.Attribute) else ""


_PLAIN = ("join", "format", "replace", "strip", "removesuffix", "removeprefix", "capitalize")
"""What a Text is no Text after."""


def _elsewhere(given: ast.expr) -> bool:
    """Whether it is what another library says, ``str(error)``, cut to what can be shown."""
    while isinstance(given, ast.Subscript | ast.Attribute | ast.Call):
        if isinstance(given, ast.Call) and isinstance(given.func, ast.Name):
            return given.func.id == "str"
        given = given.func if isinstance(given, ast.Call) else given.value
    return False


def bare(given: ast.expr, scope: Scope, seen: tuple[str, ...] = ()) -> bool:
    """Whether it is, or may be, a text that is not said."""
    if _elsewhere(given):
        return False
    if isinstance(given, ast.Name) and given.id not in seen:
        return any(bare(one, scope, (*seen, given.id)) for one in scope.get(given.id, ()))
    if isinstance(given, ast.IfExp):
        return bare(given.body, scope, seen) or bare(given.orelse, scope, seen)
    if isinstance(given, ast.BoolOp | ast.Tuple):
        parts = given.values if isinstance(given, ast.BoolOp) else given.elts
        return any(bare(one, scope, seen) for one in parts)
    if isinstance(given, ast.Subscript):
        return isinstance(given.slice, ast.Slice)
    if isinstance(given, ast.Call):
        return isinstance(given.func, ast.Attribute) and given.func.attr in _PLAIN
    if isinstance(given, ast.Constant):
        return isinstance(given.value, str) and bool(given.value)
    return isinstance(given, ast.JoinedStr | ast.BinOp)
