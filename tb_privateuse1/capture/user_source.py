"""Read the user's source: qualified names of functions and the lines of their calls.

torch's profiler records where a function begins, not the lines of its calls. The files of the
program are at hand when it is recorded, and perhaps never again.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import sys
import sysconfig
import time
import types
from collections.abc import Iterable, Iterator
from typing import Any, Union

KEY = "tb_privateuse1_functions"
"""The trace's metadata: ``[[file, [[line, name, {callee: [lines]}], …]], …]``."""

_LARGEST = 1 << 20
"""Bytes of a file that is read: longer ones are generated."""
_MOST = 4 << 20
"""Letters of the metadata; further files are left out."""
_BEGAN_S = time.time()
"""A file that changed since is not what runs."""

_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]


def user_functions() -> str:
    """Return the functions of the modules that are loaded, as JSON.

    Not those of Python, of torch, or of installed packages.
    """
    files: list[str] = []
    left = _MOST
    for path in sorted(set(_paths())):
        try:
            stat = os.stat(path)
            if stat.st_mtime > _BEGAN_S or stat.st_size > _LARGEST:
                continue
            text = _file(path)
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        left -= len(text)
        if text and left >= 0:
            files.append(text)
    return f"[{','.join(files)}]"


def _paths() -> Iterator[str]:
    known = tuple(os.path.join(os.path.realpath(path), "") for path in _library_folders())
    for module in tuple(sys.modules.values()):
        # A module may import others when it is asked for a name that it lacks.
        path = vars(module).get("__file__") if isinstance(module, types.ModuleType) else None
        if isinstance(path, str) and path.endswith(".py"):
            whole = _real_path(path)
            if not (_PACKAGES.search(whole) or whole.startswith(known)):
                yield whole


def _library_folders() -> Iterator[str]:
    """Yield the folders of Python, of this package, of torch, and of what Inductor writes."""
    yield from (sysconfig.get_path("stdlib"), os.path.dirname(os.path.dirname(__file__)))
    torch: Any = sys.modules.get("torch")
    yield os.path.dirname(torch.__file__)
    cache: Any = sys.modules.get("torch._inductor.runtime.cache_dir_utils")
    if cache is not None:
        yield cache.cache_dir()


_PACKAGES = re.compile(r"[/\\](site|dist)-packages[/\\]")
_real_path = functools.lru_cache(maxsize=1 << 16)(os.path.realpath)


@functools.lru_cache(maxsize=4096)
def _file(path: str) -> str:
    """Return the entry of a file; empty for one without functions."""
    with open(path, "rb") as file:
        tree = ast.parse(file.read())
    functions = [_entry(*one) for one in _functions(tree, "", None)]
    return json.dumps([path, functions], separators=(",", ":")) if functions else ""


def _functions(
    node: ast.AST, prefix: str, owner: ast.ClassDef | None
) -> Iterator[tuple[_Function, str, ast.ClassDef | None]]:
    """Yield the functions below a node, with their qualified names and the classes around them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield child, f"{prefix}{child.name}", owner
            yield from _functions(child, f"{prefix}{child.name}.<locals>.", None)
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.", child)
        else:
            yield from _functions(child, prefix, owner)


def _entry(function: _Function, name: str, owner: ast.ClassDef | None) -> list[Any]:
    modules = _modules(owner) if owner else {}
    calls: dict[str, list[int]] = {}
    for called, line in _calls(function.body):
        for one in (called, *modules.get(called, ())):
            if line not in calls.setdefault(one, []):
                calls[one].append(line)
    # The profiler counts from the first decorator, as Python does (``co_firstlineno``).
    line = min([function.lineno, *(one.lineno for one in function.decorator_list)])
    return [line, name, {key: sorted(lines) for key, lines in calls.items()}]


def _calls(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Yield the name and the line of each call, not of those in functions inside."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Call):
            called = node.func
            line = called.end_lineno or called.lineno
            if isinstance(called, ast.Attribute):
                yield called.attr, line
            elif isinstance(called, ast.Name):
                yield called.id, line
        yield from _calls(ast.iter_child_nodes(node))


def _modules(owner: ast.ClassDef) -> dict[str, set[str]]:
    """Return the classes that attributes of ``self`` are made of, as traces name modules."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = node.value.func
            name = getattr(made, "attr", getattr(made, "id", ""))
            for target in node.targets:
                if isinstance(target, ast.Attribute) and name:
                    found.setdefault(target.attr, set()).add(f"nn.Module: {name}")
    return found
