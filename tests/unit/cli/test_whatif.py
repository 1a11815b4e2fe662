"""``whatif`` on the command line: changes, tables, text, and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb_privateuse1 import cli
from tests.support import make
from tests.support.trace_files import write


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A step that waits for a kernel of 40 us."""
    events = [
        make.step(1, 0, 100),
        make.op("aten::mm", 10, 20, id=1),
        make.launch(12, 15, 1),
        make.kernel("mm", 17, 57, 1),
        make.span("cuda_runtime", "cudaStreamSynchronize", 30, 60),
        make.op("aten::add", 98, 100, id=2),
    ]
    write(tmp_path / "run" / "w.1.pt.trace.json", make.document(*events))
    return str(tmp_path)


def test_text(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["whatif", log, "--scale", "mm=0.5"]) == 0
    said = capsys.readouterr().out
    assert "predicted: 80.000 µs" in said
    assert "replay error share: 0 %" in said


@pytest.mark.long
def test_json_is_the_view(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["whatif", log, "--scale", "mm=0.5", "--scale", "launches=0", "--json"]) == 0
    mine = capsys.readouterr().out
    changes = "changes=mm=0.5\nlaunches=0"
    assert cli.main(["view", "whatif", log, "--option", changes, "--json"]) == 0
    assert capsys.readouterr().out == mine
    assert json.loads(mine)["gain_ns"] == 25_000


def test_csv(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["whatif", log, "--csv"]) == 0
    assert capsys.readouterr().out.startswith("kind,name,full_name,on_path_ns,half_gain_ns")
    assert cli.main(["whatif", log, "--csv", "--table", "path", "--no-ranking"]) == 0
    assert "kernel,mm,,1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--scale", "aten::mn=0.5"], "There is no operator 'aten::mn' in this trace. Near to it"),
        (["--scale", "mm"], "is no change"),
        (["--table", "path"], "--table is for --csv"),
        (["--step", "7"], "no step 7"),
    ],
)
def test_bad_use(
    log: str, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["whatif", log, *arguments]) == 2
    assert says in capsys.readouterr().err


def test_without_a_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["whatif"]) == 2
    assert "needs PATH" in capsys.readouterr().err
