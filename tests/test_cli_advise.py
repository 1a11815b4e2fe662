"""``advise`` on the command line: forms, and exit codes for CI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb_privateuse1 import cli
from tests import make
from tests.rules.program import device_bound
from tests.views.test_advice import program


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for name, run in (("faulty", program()), ("sound", device_bound(steps=4))):
        path = tmp_path / name / "w.1.pt.trace.json"
        path.parent.mkdir()
        path.write_text(json.dumps(make.document(*run.events)))
    return tmp_path


@pytest.mark.parametrize(
    ("run", "limit", "code"),
    [("faulty", "high", 1), ("faulty", "note", 1), ("sound", "low", 0), ("sound", "note", 1)],
)
def test_the_exit_code_is_by_severity(log: Path, run: str, limit: str, code: int) -> None:
    """The sound one leaves out shapes and the like, which is a note."""
    assert cli.main(["advise", str(log), "--run", run, "--fail-on", limit]) == code


def test_without_a_limit_findings_are_no_failure(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["advise", str(log), "--run", "faulty"]) == 0
    assert "HIGH" in capsys.readouterr().out


def test_forms(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["advise", str(log), "--run", "faulty", "--json", "--step", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 1
    assert cli.main(["advise", str(log), "--run", "faulty", "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("**Up to ")
    out = tmp_path / "advice.sarif"
    assert cli.main(["advise", str(log), "--run", "faulty", "--sarif", "-o", str(out)]) == 0
    assert json.loads(out.read_text())["version"] == "2.1.0"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["advise"], "needs PATH"),
        (["advise", "LOG", "--step", "99"], "no step 99"),
        (["advise", "LOG", "--fail-on", "never"], "invalid choice"),
        (["advise", "LOG", "--json", "--sarif"], "not allowed with"),
    ],
)
def test_bad_use(
    log: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([str(log) if a == "LOG" else a for a in arguments]) == 2
    assert says in capsys.readouterr().err
