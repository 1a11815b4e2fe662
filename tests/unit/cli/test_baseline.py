"""``tb-privateuse1 baseline``: what it writes, its verdicts, forms and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tb_privateuse1 import cli
from tests.support import make, trace_files


def written(path: Path, *steps_us: float, kernel: float = 0.5, launches: int = 1) -> str:
    """A trace with steps of these lengths; a kernel takes this share of each."""
    events: list[make.Event] = []
    at = 0.0
    number = 0
    for i, us in enumerate(steps_us):
        events += [
            make.step(i, at, at + us),
            make.frame("train.py(7): step", at + 0.5, at + 40),
            make.op("aten::mm", at + 1, at + 30),
        ]
        for n in range(launches):
            number += 1
            start = at + 4 + n * us * kernel / launches
            events += [
                make.launch(at + 2 + n, at + 2.5 + n, number),
                make.kernel("gemm", start, start + us * kernel / launches, number),
            ]
        at += us + 100
    return str(trace_files.write(path, make.document(*events)))


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    lengths = ((1000, 1003, 1001, 1002), (1002, 1004, 1003, 1001), (1001, 1005, 1000, 1002))
    return [
        written(tmp_path / f"b{i}" / "w.1.pt.trace.json", *one) for i, one in enumerate(lengths)
    ]


def run(*arguments: str) -> int:
    return cli.main(["baseline", *arguments])


@pytest.mark.long
def test_runs_within_the_limits_pass(
    base: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("write", *base) == 0
    assert "perf-baseline.json: default, 3 runs" in capsys.readouterr().out
    same = written(tmp_path / "n" / "w.1.pt.trace.json", 1002, 1001, 1003, 1004)
    assert run("check", same) == 0
    out, err = capsys.readouterr()
    assert out.startswith("default: within the limits (1 run of 4 steps, baseline of 3)")
    assert err == ""


@pytest.mark.long
def test_a_slower_step_fails(
    base: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("write", *base)
    slow = written(tmp_path / "n" / "w.1.pt.trace.json", 1102, 1101, 1103, 1104)
    assert run("check", slow) == 1
    assert "tb-privateuse1: step: 1.002 ms -> 1.103 ms per step, +100" in capsys.readouterr().err
    assert run("check", slow, "--limit", "step=12%", "--limit", "device=1ms") == 0
    assert run("check", slow, "--limit", "step=50us", "--limit", "device=1ms") == 1


@pytest.mark.long
def test_a_launch_more_is_a_fact(base: list[str], tmp_path: Path) -> None:
    run("write", *base)
    more = written(tmp_path / "n" / "w.1.pt.trace.json", 1002, 1001, 1003, 1004, launches=2)
    assert run("check", more) == 1
    assert run("check", more, "--limit", "launches=1") == 0


@pytest.mark.long
def test_a_file_has_several_workloads(base: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("write", base[0], "--name", "eval", "-b", "both.json") == 0
    assert "Record several runs" in capsys.readouterr().out
    assert run("write", *base, "--name", "train", "-b", "both.json") == 0
    assert run("check", base[0], "-b", "both.json", "--name", "train") == 0
    assert run("check", base[0], "-b", "both.json") == 2
    assert "It has: eval, train." in capsys.readouterr().err
    content = json.loads(Path("both.json").read_text())
    assert list(content["workloads"]) == ["eval", "train"]
    assert len(content["workloads"]["train"]["metrics"]["step"]["runs"]) == 3


@pytest.mark.long
def test_reports(base: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("write", *base)
    slow = written(tmp_path / "n" / "w.1.pt.trace.json", 1302, 1301, 1303, 1304)
    Path("summary.md").write_text("before\n")
    files = ("--junit", "j.xml", "--sarif", "s.sarif", "--summary", "summary.md")
    capsys.readouterr()
    assert run("check", slow, "--json", *files) == 1
    check = json.loads(capsys.readouterr().out)
    assert check["failed"] == ["step", "device"]
    assert check["operators"][0]["figure"]["verdict"] == "slower"
    suite = ElementTree.parse("j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("5", "2")
    results = json.loads(Path("s.sarif").read_text())["runs"][0]["results"]
    places = [one["locations"][0]["physicalLocation"] for one in results if "locations" in one]
    assert places == [{"artifactLocation": {"uri": "train.py"}, "region": {"startLine": 7}}]
    summary = Path("summary.md").read_text()
    assert summary.startswith("before\n### default: over the limit: step, device")
    assert "| **step** | 1.002 ms | 1.302 ms |" in summary
    assert run("check", slow, "--markdown") == 1
    assert capsys.readouterr().out in summary


@pytest.mark.long
def test_bad_use(base: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", base[0]) == 2
    assert "There is no baseline" in capsys.readouterr().err
    run("write", *base)
    for limit in ("step", "color=3%", "step=fast", "memory=3ms", "launches=3 ms"):
        assert run("check", base[0], "--limit", limit) == 2
    assert run("write", base[0], "--junit", "j.xml") == 2
    assert "--junit is for baseline check" in capsys.readouterr().err
    assert run("write", base[0], "-b", "/nowhere/b.json") == 2


def test_without_a_steady_step_there_is_no_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = trace_files.write(tmp_path / "w.1.pt.trace.json", make.document())
    assert run("write", str(empty), "-b", str(tmp_path / "b.json")) == 2
    assert not (tmp_path / "b.json").exists()
