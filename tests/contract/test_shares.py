"""Every field named only ``share`` says in its text what it is a share of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "tb_privateuse1"
ANSWERS = sorted(
    path for room in ("views", "advice", "analysis") for path in (ROOT / room).rglob("*.py")
)

WITHOUT = {
    "Utilization": "the class says it: the busy share",
    "Limit": "a setting of a baseline, of each metric's own figure",
}
"""Classes whose own text says what ``share`` is of, or where it is a setting."""


def shares(source: str) -> Iterator[tuple[str, str]]:
    """Yield the class of each public field ``share``, and the text behind the field."""
    for made in ast.walk(ast.parse(source)):
        if not isinstance(made, ast.ClassDef) or made.name.startswith("_"):
            continue
        for at, field in enumerate(made.body):
            if isinstance(field, ast.AnnAssign) and ast.unparse(field.target) == "share":
                behind = made.body[at + 1] if at + 1 < len(made.body) else None
                text = behind.value if isinstance(behind, ast.Expr) else None
                yield made.name, str(text.value) if isinstance(text, ast.Constant) else ""


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_share_says_of_what(path: Path) -> None:
    for name, text in shares(path.read_text("utf-8")):
        if name not in WITHOUT:
            assert " of " in f" {text.lower()}", name


def test_a_share_without_text_is_found() -> None:
    assert list(shares("class Row(Struct):\n    share: float\n    calls: int")) == [("Row", "")]
