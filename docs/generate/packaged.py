"""Build the texts that come with the package from the documents that say the same."""

from __future__ import annotations

import re
from pathlib import Path

_DOCS = Path(__file__).parents[1]

_DESCRIPTION = (
    "Find what makes a PyTorch run slow and verify the fix, from its profiler traces, on any "
    "accelerator. Use it for slow training or inference, idle devices, regressions between two "
    "runs, memory peaks, or slow ranks."
)
_FRONT_MATTER = f"---\nname: tb-privateuse1\ndescription: {_DESCRIPTION}\n---\n\n"


def skill(_: str) -> str:
    """Return docs/guide/agents.md as a skill file: with front matter, without links."""
    return _FRONT_MATTER + _plain((_DOCS / "guide" / "agents.md").read_text(encoding="utf-8"))


def definitions(_: str) -> str:
    """Return docs/reference/definitions.md without links."""
    return _plain((_DOCS / "reference" / "definitions.md").read_text(encoding="utf-8"))


def _plain(document: str) -> str:
    """Return a document without what needs its neighbors."""
    without_comments = re.sub(r"^<!--.*?-->\n", "", document, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", without_comments)
