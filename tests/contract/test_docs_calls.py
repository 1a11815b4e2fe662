"""Examples that are not run still fit the code: calls by their signatures, commands by the parser.

A name is followed from its import: ``capture.profile`` is looked up, and the variable that it is
assigned to has its class. A name that a block gets elsewhere is not checked.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import shlex
import typing
from collections.abc import Iterator
from typing import Any

import pytest

from tb_privateuse1 import cli
from tb_privateuse1.server.agents import reference
from tests.support.documents import FENCE, Block, blocks

_OURS = "tb_privateuse1"
_ENDS = {">", ">>", "|", "||", "&&", "&", ";", "2>"}
DOCUMENTS: dict[Any, list[Block]] = {}
for _block in blocks("python"):
    DOCUMENTS.setdefault(_block.path, []).append(_block)


class Checker(ast.NodeVisitor):
    """Binds the calls of blocks in order; what one imports and assigns, the next ones have."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        """The objects that names stand for, and ``Instance`` of classes."""
        self.wrong: list[str] = []
        self.bound = 0

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] == _OURS:
                module = importlib.import_module(alias.name)
                top = importlib.import_module(_OURS)
                self.names[alias.asname or _OURS] = module if alias.asname else top

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if module.partition(".")[0] != _OURS:
            return
        for alias in node.names:
            try:
                found = getattr(importlib.import_module(module), alias.name, None)
                if found is None:
                    found = importlib.import_module(f"{module}.{alias.name}")
            except ModuleNotFoundError as error:
                if (error.name or "").startswith(_OURS):
                    self.wrong.append(f"{module}.{alias.name} does not exist")
                continue  # a framework that is not installed
            self.names[alias.asname or alias.name] = found

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        target = self._value(node.func)
        if target is None or not callable(target):
            return
        try:
            signature = inspect.signature(target)
        except (TypeError, ValueError):
            return
        keywords = {one.arg: None for one in node.keywords if one.arg}
        is_open = any(isinstance(one, ast.Starred) for one in node.args) or len(keywords) < len(
            node.keywords
        )
        given = [None for one in node.args if not isinstance(one, ast.Starred)]
        bind = signature.bind_partial if is_open else signature.bind
        try:
            bind(*given, **keywords)
            self.bound += 1
        except TypeError as error:
            self.wrong.append(f"{ast.unparse(node)}: {error}")

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if isinstance(item.optional_vars, ast.Name):
                self._assign(item.optional_vars.id, item.context_expr)
        for one in node.body:
            self.visit(one)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._assign(target.id, node.value)

    def _assign(self, name: str, value: ast.expr) -> None:
        made = _result(self._value(value.func)) if isinstance(value, ast.Call) else None
        self.names[name] = None if made is None else Instance(made)

    def _value(self, node: ast.expr) -> Any:
        """Return what an expression of names and attributes stands for; None if unknown."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Call):
            made = _result(self._value(node.func))
            return None if made is None else Instance(made)
        if not isinstance(node, ast.Attribute):
            return None
        owner = self._value(node.value)
        if owner is None:
            return None
        if isinstance(owner, Instance):
            return owner.method(node.attr)
        if not hasattr(owner, node.attr):
            self.wrong.append(f"{ast.unparse(node)} does not exist")
        return getattr(owner, node.attr, None)


class Instance:
    """Some object of a class."""

    def __init__(self, of: type) -> None:
        self.of = of

    def method(self, name: str) -> Any:
        """Return the method as the object has it, or None for any other attribute."""
        found = inspect.getattr_static(self.of, name, None)
        return found.__get__(self, self.of) if inspect.isfunction(found) else None


def _result(function: Any) -> type | None:
    """Return the class of what a call returns, if it is one of ours."""
    if inspect.isfunction(function) or inspect.ismethod(function):
        try:
            function = typing.get_type_hints(function).get("return")
        except NameError:  # a class that is imported for its type alone
            return None
    is_ours = inspect.isclass(function) and function.__module__.startswith(_OURS)
    return function if is_ours else None


def check(*codes: str) -> Checker:
    checker = Checker()
    for code in codes:
        checker.visit(ast.parse(code))
    return checker


@pytest.mark.long
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_calls_fit_their_signatures(path: Any) -> None:
    pytest.importorskip("torch")
    codes = [block.code for block in DOCUMENTS[path]]
    for code in codes:
        compile(code, str(path), "exec")
    assert check(*codes).wrong == []


@pytest.mark.long
def test_calls_of_the_skill_fit_their_signatures() -> None:
    pytest.importorskip("torch")
    codes = [
        one["code"] for one in FENCE.finditer(reference.skill()) if one["language"] == "python"
    ]
    checker = check(*codes)
    assert checker.wrong == []
    assert checker.bound >= 3


@pytest.mark.long
@pytest.mark.parametrize(
    "call",
    [
        'capture.profile("./log")',
        "capture.profile(recorded=1)",
        "capture.nothing()",
        "with capture.profile() as prof:\n    prof.step(1)",
        "job = capture.on_demand()",
    ],
)
def test_a_wrong_call_is_found(call: str) -> None:
    pytest.importorskip("torch")
    assert len(check(f"from tb_privateuse1 import capture\n{call}").wrong) == 1


def our_commands(code: str) -> Iterator[list[str]]:
    """Yield the arguments of each ``tb-privateuse1``, wherever it stands in a line."""
    for line in code.replace("\\\n", " ").splitlines():
        try:
            lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError:  # a text over several lines
            continue
        starts = [i for i, word in enumerate(words) if word == "tb-privateuse1"]
        for start in starts:
            rest = words[start + 1 :]
            until = next((i for i, word in enumerate(rest) if word in _ENDS), len(rest))
            if rest[:until]:
                yield rest[:until]


@pytest.mark.parametrize(
    "block",
    [one for one in blocks("sh") if one.reason and re.search(r"\btb-privateuse1 ", one.code)],
    ids=str,
)
def test_commands_that_are_not_run_are_understood(block: Block) -> None:
    for arguments in our_commands(block.code):
        assert understood(arguments), arguments


def understood(arguments: list[str]) -> bool:
    from tb_privateuse1.cli.commands import UsageError

    try:
        _, unknown = cli._parser(arguments).parse_known_args(arguments)
    except UsageError:
        return False
    return not unknown


def test_a_wrong_command_is_found() -> None:
    (arguments,) = our_commands("A=1 srun tb-privateuse1 view overview ./log --jsn > out # x\n")
    assert arguments == ["view", "overview", "./log", "--jsn"]
    assert not understood(arguments)
    assert not understood(["viev"])
    assert understood(arguments[:3])
