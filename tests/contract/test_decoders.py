"""msgspec knows our classes before threads ask it.

What a class holds it finds out at the first decoding, and the process dies if several threads are
the first. So each module makes its decoders while it is imported.
"""

from __future__ import annotations

import ast
import importlib
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct

import tb_privateuse1

PACKAGE = Path(tb_privateuse1.__file__).parent
DECODER, DECODE, CONVERT = "msgspec.json.Decoder", "msgspec.json.decode", "msgspec.convert"


def kinds(node: ast.AST) -> list[str]:
    """The types that calls in some code decode into, as they are written."""
    found = []
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        name = ast.unparse(call.func)
        if name in (DECODER, CONVERT) and call.args:
            found.append(ast.unparse(call.args[-1]))
        found += [
            ast.unparse(k.value) for k in call.keywords
            if name in (DECODER, DECODE, CONVERT) and k.arg == "type"
        ]  # fmt: skip
    return found


def has_fields(kind: Any) -> bool:
    """Whether it is one of our classes, or holds one."""
    if isinstance(kind, type) and (isinstance(kind, Struct) or issubclass(kind, msgspec.Struct)):
        return True
    return any(map(has_fields, typing.get_args(kind)))


def unready(code: str, names: dict[str, Any]) -> list[str]:
    """The classes that only functions of a module ask for."""
    inside = ast.FunctionDef | ast.ClassDef
    body = ast.parse(code).body
    ready = {kind for node in body if not isinstance(node, inside) for kind in kinds(node)}
    asked = {kind for node in body if isinstance(node, inside) for kind in kinds(node)}
    return sorted(kind for kind in asked - ready if has_fields(eval(kind, names)))


MODULES = [path for path in PACKAGE.rglob("*.py") if "msgspec" in path.read_text()]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_no_class_is_met_first_in_a_thread(path: Path) -> None:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    assert unready(path.read_text(), vars(module)) == []


class Point(msgspec.Struct):
    """A class of ours."""

    x: int


CODE = """
def f(text):
    return msgspec.json.decode(text, type=list[Point]), msgspec.convert({}, dict[str, int])
"""


def test_one_that_is_would_be_noticed() -> None:
    assert unready(CODE, globals()) == ["list[Point]"]
    assert unready(CODE + "msgspec.json.Decoder(list[Point])", globals()) == []
