"""The names of torch that the capture uses, read from its sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_ASKING = ("getattr", "hasattr")


@dataclass
class Used:
    """What sources use of torch."""

    names: set[str] = field(default_factory=set)
    """Dotted, such as ``torch.Event``, in strings too, and mangled names of C++ symbols."""
    attributes: set[str] = field(default_factory=set)
    """The names of all attributes, of whatever object, and names that stand in strings."""
    calls: set[str] = field(default_factory=set)
    """The names of all methods that are called, of whatever object."""

    def add(self, source: str) -> None:
        """Add what a source uses."""
        tree = ast.parse(source)
        aliases = _aliases(tree)
        # An import of a name uses it even if only a longer one follows.
        self.names |= {name for name in aliases.values() if name != "torch"}
        inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        for node in ast.walk(tree):
            self._add_attribute(node)
            dotted = None if id(node) in inner else _dotted(node, aliases)
            if dotted is not None and dotted != "torch":
                self.names.add(dotted)

    def _add_attribute(self, node: ast.AST) -> None:
        if isinstance(node, ast.Attribute):
            self.attributes.add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            self.calls.add(node.func.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"_ZN\w+|torch(\.\w+)+", node.value):
                self.names.add(node.value)
            elif node.value.isidentifier():
                self.attributes.add(node.value)


def _aliases(tree: ast.Module) -> dict[str, str]:
    """Return what local names mean in torch."""
    return dict(_imported(tree))


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "torch":
                    yield alias.asname or "torch", alias.name if alias.asname else "torch"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _dotted(node: ast.AST, aliases: dict[str, str]) -> str | None:
    """Return ``torch.a.b`` for a name, an attribute, or a ``getattr`` with a literal."""
    if isinstance(node, ast.Name):
        return aliases.get(node.id)
    if isinstance(node, ast.Attribute):
        base, name = _dotted(node.value, aliases), node.attr
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _ASKING
        and isinstance(node.args[1], ast.Constant)
    ):
        base, name = _dotted(node.args[0], aliases), str(node.args[1].value)
    else:
        return None
    return None if base is None else f"{base}.{name}"
