"""Plain English: words that the style rule avoids may only become fewer."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.sources import nodes

ROOT = Path(__file__).parents[2]
THIS = Path(__file__)
AVOIDED = re.compile(
    r"\b(mend(s|ed|ing)?|bears out|of which|so many|what is no|told|whoever|heed|be it)\b",
    re.IGNORECASE,
)
"""CONTRIBUTING.md names the words to use instead."""

MOST = {
    "tb_privateuse1/*.py": 10,
    "tests/*.py": 470,
    "docs/*.md": 16,
    "frontend/src/*.ts*": 22,
}
"""How many are left. Lower the number of a folder when you remove some."""

_QUESTION = re.compile(r"(What|Who|Whose|Whether|Those|That)\b")
MOST_QUESTIONS = 1
"""Docstrings that begin with a relative clause instead of "Return", "Build" or a noun."""


def files(pattern: str) -> list[Path]:
    """Return the tracked files of a pattern."""
    names = subprocess.check_output(["git", "ls-files", "-z", pattern], cwd=ROOT, text=True)
    return [
        ROOT / name for name in names.split("\0") if name and name != "tests/contract/test_words.py"
    ]


@pytest.mark.long
@pytest.mark.parametrize("pattern", MOST)
def test_avoided_words_become_fewer(pattern: str) -> None:
    found = {path: len(AVOIDED.findall(path.read_text())) for path in files(pattern)}
    worst = sorted(found.items(), key=lambda one: -one[1])[:5]
    assert sum(found.values()) <= MOST[pattern], worst


@pytest.mark.long
def test_docstrings_say_what_is_returned() -> None:
    found = []
    for path in files("tb_privateuse1/*.py"):
        for node in nodes(path.read_text()):
            kinds = ast.Module | ast.FunctionDef | ast.ClassDef
            if isinstance(node, kinds) and _QUESTION.match(ast.get_docstring(node) or ""):
                found.append(f"{path.relative_to(ROOT)}: {getattr(node, 'name', 'module')}")
    assert len(found) <= MOST_QUESTIONS, found
