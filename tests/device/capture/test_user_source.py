"""What the capture reads of the program's source."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.capture import user_source

PROGRAM = """
import functools
import helpers.deep

class Net(Base):
    def __init__(self):
        self.up = nn.Linear(4, 4)
        self.down = nn.Linear(4, 4)

    @functools.cache
    @check
    def forward(self, x):
        y = self.up(x)
        def inner():
            hidden()
        return (
            self.down(y)
            .sum()
        ) + sum(v.item() for v in y)

async def main():
    await run(); run()
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "program_of_user.py"
    path.write_text(PROGRAM)
    os.utime(path, (0, 0))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    monkeypatch.setitem(sys.modules, path.stem, importlib.util.module_from_spec(spec))
    user_source._file.cache_clear()
    return path


def functions(path: Path) -> dict[str, Any] | None:
    """The functions of a file, by name."""
    found = dict(json.loads(user_source.user_functions()))
    entries = found.get(str(path))
    return entries and {name: (line, calls) for line, name, calls in entries}


def test_functions_have_qualified_names_and_the_lines_of_their_calls(program: Path) -> None:
    """A function begins at its first decorator; functions inside of it have calls of their own."""
    found = functions(program)
    assert found is not None
    line, calls = found["Net.forward"]
    assert line == 10
    assert calls == {
        "up": [13], "nn.Module: Linear": [13, 17], "down": [17], "sum": [18, 19], "item": [19]
    }  # fmt: skip
    assert found["Net.forward.<locals>.inner"] == (14, {"hidden": [15]})
    assert found["main"] == (21, {"run": [22]})


def test_a_file_that_changed_since_is_not_what_runs(program: Path) -> None:
    os.utime(program)
    assert functions(program) is None


def test_a_file_that_is_no_python_is_left_out(program: Path) -> None:
    program.write_text("def f(:\n")
    os.utime(program, (0, 0))
    assert functions(program) is None


def test_libraries_are_not_read() -> None:
    folders = [file for file, _ in json.loads(user_source.user_functions())]
    assert not [file for file in folders if "site-packages" in file or "/torch/" in file]
