"""The report in Markdown: short, with names as text, of a trace and of a diff."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb_privateuse1 import cli
from tb_privateuse1.export.reports.summary import MOST_LETTERS
from tb_privateuse1.i18n.units import with_unit
from tests.support import make
from tests.unit.views.test_advice import program


@pytest.fixture
def log(tmp_path: Path) -> Path:
    events = program().events
    for name, run in (("run_*1*", events), ("other", events)):
        path = tmp_path / name / "w.1.pt.trace.json"
        path.parent.mkdir()
        path.write_text(json.dumps(make.document(*run)))
    return tmp_path


def markdown(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert cli.main(["report", *map(str, arguments), "--markdown"]) == 0
    return capsys.readouterr().out


def test_a_trace(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = markdown(capsys, log, "--run", "run_*1*")
    assert text.startswith("## Profile of `run_*1*`")
    assert "| Device times | measured |" in text
    assert "\n### About " in text
    assert "\n1. **High: " in text
    assert "| Operator | Device time | Of step |" in text
    assert f"`tb-privateuse1 report {log} --run 'run_*1*'`*" in text
    assert len(text) <= MOST_LETTERS


def test_figures_are_those_of_the_view(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = markdown(capsys, log)
    assert cli.main(["view", "overview", str(log), "--json"]) == 0
    step_ns = json.loads(capsys.readouterr().out)["average_step_ns"]
    assert f"| Average step | {with_unit('step_ns', step_ns)} |" in text


def test_a_diff(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = markdown(capsys, log / "other", log / "run_*1*")
    assert text.startswith("## From `other")
    assert "| Part | Base | Now | Change |  | ± noise | Verdict |" in text


def test_the_suffix_selects_it(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.MD"
    assert cli.main(["report", str(log), "-o", str(out)]) == 0
    assert out.read_text().startswith("## Profile of ")


@pytest.mark.long
def test_long_names_do_not_make_it_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [
        event
        for i in range(200)
        for event in (
            make.op(f"{i}`|*" * 100, 100 * i, 100 * i + 60),
            make.launch(100 * i + 1, 100 * i + 2, i),
            make.kernel(f"k{i}\x1b[31m" * 100, 100 * i + 10, 100 * i + 50, i),
        )
    ]
    path = tmp_path / "w.1.pt.trace.json"
    path.write_text(json.dumps(make.document(*events)))
    text = markdown(capsys, tmp_path)
    assert len(text) <= MOST_LETTERS
    assert "\x1b" not in text
    assert "… and " in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--base-run", "x"], "--base-run is for a change"),
        (["--language", "fr"], "invalid choice"),
    ],
)
def test_bad_use(
    log: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert cli.main(["report", str(log), *arguments, "--markdown"]) == 2
    assert says in capsys.readouterr().err


def test_a_terminal_gets_no_html(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert cli.main(["report", str(log)]) == 2
    assert "-o report.html" in capsys.readouterr().err
