"""The documents of the project: their fenced blocks, and the commands in them."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

FENCE = re.compile(
    r"(?P<mark><!-- not run: (?P<reason>.+?) -->\n+)?^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@functools.cache
def documents() -> list[Path]:
    """Return every Markdown file, tracked or about to be."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "*.md"]
    names = subprocess.check_output(command, cwd=ROOT, text=True).split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).exists()]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    path: Path
    line: int
    language: str
    code: str
    reason: str | None
    """Why the block is not run."""

    def __str__(self) -> str:
        return f"{name_of(self.path)}:{self.line}"


@functools.cache
def blocks(*languages: str) -> list[Block]:
    """Return the fenced blocks of all documents in these languages."""
    found = []
    for path in documents():
        text = path.read_text()
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start("language")) + 1
            block = Block(path, line, match["language"], match["code"], match["reason"])
            if block.language in languages:
                found.append(block)
    return found


@dataclass(frozen=True)
class Command:
    """A line of an example: the variables before it, and the arguments of tb-privateuse1."""

    variables: dict[str, str]
    arguments: list[str]


def commands(code: str) -> Iterator[Command]:
    """Yield the commands of a block. Raises ValueError for one of another program."""
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        given = {}
        while words and re.fullmatch(r"[A-Z]\w*=.*", words[0]):
            key, _, given[key] = words.pop(0).partition("=")
        if not words:
            continue
        if words[0] != "tb-privateuse1":
            raise ValueError(f"mark the block `<!-- not run: … -->`, it runs {words[0]}")
        yield Command(given, words[1 : words.index(">") if ">" in words else None])
