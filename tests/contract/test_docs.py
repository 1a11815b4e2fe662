"""The documents: no broken link, no stale table, and every example that can run does."""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.generate.__main__ import DOCS, stale
from tb_privateuse1 import cli
from tests.support.documents import (
    FENCE,
    ROOT,
    Block,
    Command,
    blocks,
    commands,
    documents,
    name_of,
)
from tests.support.sources import PACKAGE, nodes

CONFIGURATION = DOCS / "reference" / "configuration.md"

_LINK = re.compile(r"\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#+ (.+?) *$", re.MULTILINE)


def prose(text: str) -> str:
    """Return a document without its fenced blocks and code spans."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub and the site make them."""
    found: set[str] = set()
    for heading in _HEADING.findall(FENCE.sub("", path.read_text())):
        plain = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        slug, repeated = plain, 0
        while slug in found:
            repeated += 1
            slug = f"{plain}-{repeated}"
        found.add(slug)
    return found


def broken(path: Path, text: str) -> Iterator[str]:
    """Yield each link of a document to a file or heading that does not exist."""
    for link in _LINK.findall(prose(text)):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        if not file.exists() or (anchor and anchor not in anchors(file)):
            yield link


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_no_link_is_broken(path: Path) -> None:
    assert list(broken(path, path.read_text())) == []


def test_a_broken_link_is_found() -> None:
    path = DOCS / "guide" / "capture.md"
    text = "[a](nowhere.md) [b](capture.md#nowhere) [c](#warnings) [d](https://host/x) `[e](f.md)`"
    assert list(broken(path, text)) == ["nowhere.md", "capture.md#nowhere"]


def test_every_document_of_the_site_is_in_its_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert {page for page in pages if f": {page}\n" not in navigation} == set()


def test_generated_documents_are_fresh() -> None:
    assert stale() == [], "run `make api`"


def test_paths_named_in_messages_exist() -> None:
    """Messages and comments name documents by their path."""
    sources = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.toml")]
    named = {path for file in sources for path in re.findall(r"docs/[\w/]+\.md", file.read_text())}
    assert len(named) > 5
    assert {path for path in named if not (ROOT / path).exists()} == set()


@functools.cache
def variables() -> set[str]:
    """Return the environment variables that the package reads."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in nodes(path.read_text()):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set(re.findall(r"\bTB_PRIVATEUSE1_[A-Z_]+[A-Z]\b", node.value))
            key = _environment_key(node)
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                found.add(key.value)
    return found


def _environment_key(node: ast.AST) -> ast.expr | None:
    """Return the key of ``os.environ[key]``, ``os.environ.get(key)`` and ``os.getenv(key)``."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        return node.slice if ast.unparse(node.value) == "os.environ" else None
    readers = ("os.environ.get", "os.getenv", "_environment")
    if isinstance(node, ast.Call) and node.args and ast.unparse(node.func) in readers:
        return node.args[0]
    return None


def flags() -> set[str]:
    """Return TensorBoard's flags that the package reads or defines."""
    sources = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    read = re.findall(r'getattr\(\s*context\.flags,\s*"(\w+)"', sources)
    read += re.findall(r"context\.(logdir)\b", sources)
    return {f"--{name}" for name in read} | set(re.findall(r'"(--privateuse1\w*)"', sources))


@pytest.mark.long
def test_every_variable_and_flag_is_in_the_table() -> None:
    documented = set(re.findall(r"^\| `([\w-]+)` \|", CONFIGURATION.read_text(), re.MULTILINE))
    assert {"TB_PRIVATEUSE1_CACHE", "RANK"} <= variables()
    assert {"--logdir_spec", "--reload_interval"} <= flags()
    assert documented == variables() | flags()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with what the examples name, as the current one."""
    runs = ROOT / "examples" / "runs"
    shutil.copytree(runs, tmp_path / "log")
    for name, run in (("old", "transformer-measured"), ("new", "transformer-inferred")):
        shutil.copytree(runs / run, tmp_path / name)
        shutil.copytree(runs / run, tmp_path / "log" / name)
    (trace,) = (runs / "transformer-inferred").glob("*.pt.trace.json.gz")
    shutil.copy(trace, tmp_path / "trace.pt.trace.json.gz")
    for sidecar in (runs / "transformer-inferred").glob("*.kernel_event.json.gz"):
        shutil.copy(sidecar, tmp_path / "trace.kernel_event.json.gz")
    (tmp_path / "acme.toml").write_text(first("vendors.md", "toml"))
    (tmp_path / "checkpoints.py").write_text(first("advice.md", "python"))
    (tmp_path / "fused.py").write_text(first("work.md", "python"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def first(document: str, language: str) -> str:
    return next(block.code for block in blocks(language) if block.path.name == document)


SH = [block for block in blocks("sh") if block.reason is None]
UNLIKE = list({tuple(map(repr, commands(block.code))): block for block in reversed(SH)}.values())
"""The blocks of ``SH`` without those that repeat the commands of another document."""
PYTHON = [block for block in blocks("python") if block.reason is None]


def exit_code(arguments: list[str]) -> int:
    """Run a command. A server on standard input has a process and an input of its own."""
    if arguments[0] != "mcp":
        return cli.main(arguments)
    command = [sys.executable, "-m", "tb_privateuse1.cli", *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode


@pytest.mark.long
@pytest.mark.parametrize("block", UNLIKE, ids=str)
@pytest.mark.usefixtures("folder")
def test_commands_run(
    block: Block, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for command in commands(block.code):
        with monkeypatch.context() as environment:
            for name, value in command.variables.items():
                environment.setenv(name, value)
            code = exit_code(command.arguments)
        told = capfd.readouterr()
        limited = any(option.startswith("--fail-") for option in command.arguments)
        assert code in ((0, 1) if limited else (0,)), (command.arguments, told.err)


@pytest.mark.long
@pytest.mark.parametrize("block", PYTHON, ids=str)
@pytest.mark.usefixtures("folder")
def test_programs_run(block: Block) -> None:
    exec(compile(block.code, str(block), "exec"), {"__name__": "example"})


@pytest.mark.long
@pytest.mark.parametrize("block", blocks("sql"), ids=str)
@pytest.mark.usefixtures("folder")
def test_queries_run(block: Block, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("duckdb")
    statements = [one for one in block.code.split(";") if one.strip()]
    assert statements
    for statement in statements:
        assert cli.main(["sql", "log", statement]) == 0, capfd.readouterr().err


@pytest.mark.parametrize("block", blocks("toml", "json"), ids=str)
def test_data_is_valid(block: Block) -> None:
    (tomllib.loads if block.language == "toml" else json.loads)(block.code)


def test_examples_are_found() -> None:
    """The README's own examples are among them, so that the patterns still fit."""
    assert {name_of(block.path) for block in SH} >= {"README.md", "docs/guide/advice.md"}
    ours = {name_of(block.path) for block in PYTHON if "tbp." in block.code}
    assert ours >= {"README.md", "README.zh.md", "docs/guide/pages.md"}
    assert all(block.reason for block in blocks("sh", "python") if "torch" in block.code)
    assert os.fspath(ROOT) not in "".join(block.code for block in (*SH, *PYTHON))


def test_another_program_is_refused() -> None:
    with pytest.raises(ValueError, match="runs pip"):
        list(commands("tb-privateuse1 view --list\npip install .\n"))
    (one,) = commands("A=1 tb-privateuse1 whatif ./log --csv > gains.csv  # a comment\n")
    assert one == Command({"A": "1"}, ["whatif", "./log", "--csv"])
