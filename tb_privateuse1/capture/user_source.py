"""Read the user's source: qualified names of functions and the lines of their calls.

torch's profiler records where a function begins, not the lines of its calls.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import sys
import time
import types
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from tb_privateuse1.capture.backend import backend_name

KEY = "tb_privateuse1_functions"
"""The trace's metadata: ``[[file, [[line, name, {callee: [lines]}], …]], …]``."""

_MOST = 1 << 20
"""Bytes of a file, since longer ones are generated, and letters of all functions."""
_BEGAN_S = time.time()
"""A file that changed since is not what runs."""

_PACKAGES = re.compile(r"[/\\](site-packages|dist-packages|torch|tb_privateuse1)[/\\]")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def user_functions() -> str:
    """Return the functions of loaded modules, as JSON; not of Python, torch and packages."""
    files: list[str] = []
    for path in sorted(set(_paths())):
        with suppress(Exception):  # no file may cost the recording
            stat = os.stat(path)
            if stat.st_mtime <= _BEGAN_S and stat.st_size <= _MOST:
                files += filter(None, [_file(path)])
    while sum(map(len, files)) > _MOST:
        files.pop()
    return f"[{','.join(files)}]"


def _paths() -> Iterator[str]:
    # A vendor's functions around torch are no more the program's than Python's own.
    vendor = getattr(sys.modules.get("torch"), backend_name(), None)
    files = (os.__file__, getattr(vendor, "__file__", None) or os.__file__)
    libraries = tuple(os.path.join(os.path.dirname(file), "") for file in files)
    for module in tuple(sys.modules.values()):
        # A module may import others when it is asked for a name that it lacks.
        path = vars(module).get("__file__") if isinstance(module, types.ModuleType) else None
        is_python = isinstance(path, str) and path.endswith(".py")
        if path and is_python and not (path.startswith(libraries) or _PACKAGES.search(path)):
            yield path


@functools.cache
def _file(path: str) -> str:
    """Return the entry of a file; empty for one without functions."""
    with open(path, "rb") as file:
        tree = ast.parse(file.read())
    functions = [*_functions(tree, "", {})]
    return json.dumps([path, functions], separators=(",", ":")) if functions else ""


def _functions(node: ast.AST, prefix: str, modules: dict[str, set[str]]) -> Iterator[list[Any]]:
    """Yield the entries of the functions below a node; ``modules`` is of the class around."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            calls: dict[str, set[int]] = {}
            for called, line in _calls(child.body):
                for one in (called, *modules.get(called, ())):
                    calls.setdefault(one, set()).add(line)
            # The profiler counts from the first decorator, as Python does (``co_firstlineno``).
            begin = min(one.lineno for one in (child, *child.decorator_list))
            name = prefix + child.name
            yield [begin, name, {key: sorted(lines) for key, lines in calls.items()}]
            yield from _functions(child, f"{name}.<locals>.", {})
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.", _modules(child))
        else:
            yield from _functions(child, prefix, modules)


def _calls(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Yield the name and the line of each call, not of those in functions inside."""
    for node in nodes:
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
            if isinstance(node, ast.Call) and (name := _last_name(node.func)):
                yield name, node.func.end_lineno or 0
            yield from _calls(ast.iter_child_nodes(node))


def _modules(owner: ast.ClassDef) -> dict[str, set[str]]:
    """Return the classes that attributes of ``self`` are made of, as traces name modules."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                made = f"nn.Module: {_last_name(node.value.func)}"
                found.setdefault(_last_name(target), set()).add(made)
    return found


def _last_name(node: ast.AST) -> str:
    """Return ``item`` of ``x.item``; empty of what has no name."""
    return getattr(node, "attr", getattr(node, "id", ""))
