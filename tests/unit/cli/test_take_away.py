"""``take-away``: the folder has the scripts of the last call, and what is not its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb_privateuse1.cli import main
from tests.support.make import document
from tests.unit.export.taken.test_recorded_calls import MM, op


@pytest.fixture
def log(tmp_path: Path) -> Path:
    events = [op("aten::mm", 0, 9, **MM), op("aten::matmul", 20, 25, **MM)]
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "h_1.pt.trace.json").write_text(json.dumps(document(*events)))
    return tmp_path / "log"


def take(log: Path, folder: Path, *more: str) -> set[str]:
    assert main(["take-away", str(log), "-o", str(folder), *more]) == 0
    return {path.name for path in folder.glob("*.py")}


def test_scripts_of_the_last_call_go_and_others_stay(log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "taken"
    first = take(log, folder)
    assert len(first) == 2
    (folder / "mine.py").write_text("print()")
    second = take(log, folder, "--name", "aten::mm")
    assert len(second) == 2
    assert "mine.py" in second
    assert take(log, folder) == first | {"mine.py"}


def test_a_script_that_was_edited_stays(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "taken"
    (edited,) = take(log, folder, "--name", "aten::matmul")
    (folder / edited).write_text("CASE = 1")
    found = take(log, folder, "--name", "aten::mm")
    assert edited in found
    assert (folder / edited).read_text() == "CASE = 1"
    assert "was edited" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "[1]", '{"../log/h_1.pt.trace.json": "0"}'])
def test_an_index_of_others_removes_nothing(log: Path, tmp_path: Path, text: str) -> None:
    folder = tmp_path / "taken"
    folder.mkdir()
    (folder / "taken.json").write_text(text)
    (folder / "old.py").write_text("")
    assert "old.py" in take(log, folder)
    assert (log / "h_1.pt.trace.json").exists()
