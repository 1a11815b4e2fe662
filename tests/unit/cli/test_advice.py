"""``advice`` on the command line: forms, and exit codes for CI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb_privateuse1 import cli
from tests.support import make
from tests.support.program import device_bound
from tests.unit.views.test_advice import program


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for name, run in (("faulty", program()), ("sound", device_bound(steps=4))):
        path = tmp_path / name / "w.1.pt.trace.json"
        path.parent.mkdir()
        path.write_text(json.dumps(make.document(*run.events)))
    return tmp_path


@pytest.mark.parametrize(
    ("run", "limit", "code"),
    [("faulty", "high", 1), ("faulty", "note", 1), ("sound", "low", 0), ("sound", "note", 0)],
)
def test_the_exit_code_is_by_severity(log: Path, run: str, limit: str, code: int) -> None:
    assert cli.main(["advice", str(log), "--run", run, "--fail-on", limit]) == code


def test_without_a_limit_findings_are_no_failure(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["advice", str(log), "--run", "faulty"]) == 0
    assert "HIGH" in capsys.readouterr().out


def test_the_old_name_of_the_command_answers_with_a_note(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["advise", str(log), "--run", "faulty"]) == 0
    out, err = capsys.readouterr()
    assert "HIGH" in out
    assert "advise is now advice" in err


@pytest.mark.long
def test_forms(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["advice", str(log), "--run", "faulty", "--json", "--step", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 1
    assert cli.main(["advice", str(log), "--run", "faulty", "--markdown"]) == 0
    assert "\n**About " in capsys.readouterr().out
    out = tmp_path / "advice.sarif"
    assert cli.main(["advice", str(log), "--run", "faulty", "--sarif", "-o", str(out)]) == 0
    assert json.loads(out.read_text())["version"] == "2.1.0"


def test_all_ranks_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, took in ((0, 300), (1, 100)):
        events = [
            event
            for i in range(5)
            for event in (
                make.step(i, 1000 * i, 1000 * i + 900), make.op("aten::mm", 1000 * i, 1000 * i + 9),
                make.launch(1000 * i + 1, 1000 * i + 2, i),
                make.kernel(
                    "ncclAllReduce", 1000 * i + 500 - took, 1000 * i + 500, i, stream=9,
                    **{"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
                       "Out msg nelems": 1000, "Group size": 2, "Process Group Name": "0"},
                ),
            )
        ]  # fmt: skip
        told = {"backend": "nccl", "rank": number, "world_size": 2}
        path = tmp_path / "r" / f"host_{number}.1.pt.trace.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(make.document(*events, distributedInfo=told)))
    log = str(tmp_path)
    assert cli.main(["advice", log, "--ranks", "--fail-on", "high"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("Findings in 2 ranks together.")
    assert "Rank 1 keeps the others waiting: 22.2 % of their time" in said
    assert cli.main(["advice", log, "--ranks", "--json", "--step", "2"]) == 0
    rules = {row["rule"] for row in json.loads(capsys.readouterr().out)["advice"]}
    assert "missing_overlap" in rules


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["advice"], "needs PATH"),
        (["advice", "LOG", "--step", "99"], "no step 99"),
        (["advice", "LOG", "--fail-on", "never"], "invalid choice"),
        (["advice", "LOG", "--json", "--sarif"], "not allowed with"),
        (["advice", "LOG", "--ranks", "--sarif"], "--ranks has a text"),
    ],
)
def test_bad_use(
    log: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([str(log) if a == "LOG" else a for a in arguments]) == 2
    assert says in capsys.readouterr().err
