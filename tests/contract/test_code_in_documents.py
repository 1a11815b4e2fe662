"""The Python code in documents runs as it stands there, on two runs of the examples."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "README.zh.md", "docs/guide/pages.md")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

RUNS = {"old": "transformer-inferred", "new": "transformer-measured"}


def blocks(document: str) -> list[str]:
    """The blocks of code that use our interface."""
    text = (ROOT / document).read_text("utf-8")
    return [code for code in BLOCK.findall(text) if "tbp." in code]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_it_runs(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, example in RUNS.items():
        shutil.copytree(ROOT / "examples" / "runs" / example, tmp_path / "log" / name)
    monkeypatch.chdir(tmp_path)
    pandas = importlib.util.find_spec("pandas") is not None
    found = blocks(document)
    assert found
    for code in found:
        lines = [line for line in code.splitlines() if pandas or "to_pandas" not in line]
        exec(compile("\n".join(lines), document, "exec"), {})
