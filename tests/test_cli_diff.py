"""``tb-privateuse1 diff``: forms, and when it fails."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tb_privateuse1 import cli
from tests import make, tracefiles


def written(path: Path, *steps_us: float, name: str = "gemm") -> Path:
    """A trace with steps of these lengths, the kernel of which takes half of each."""
    events: list[make.Event] = []
    at = 0.0
    for i, us in enumerate(steps_us):
        events += [
            make.step(i, at, at + us), make.op("aten::mm", at + 1, at + 3),
            make.launch(at + 1, at + 2, i + 1), make.kernel(name, at + 4, at + 4 + us / 2, i + 1),
        ]  # fmt: skip
        at += us + 100
    return tracefiles.write(path, make.document(*events))


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    base = written(tmp_path / "base" / "w.1.pt.trace.json", 999, 1001, 1000, 1000)
    now = written(tmp_path / "now" / "w.1.pt.trace.json", 1099, 1101, 1100, 1100)
    return str(base), str(now)


def test_a_regression_beyond_the_limit_fails(
    two: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["diff", *two, "--fail-over", "3%"]) == 1
    out, err = capsys.readouterr()
    assert "| **step** | 1.000 ms | 1.100 ms | 100.000 us | 10.0 % |" in out
    assert "`aten::mm`" in out
    assert err.startswith("tb-privateuse1: step: 1.000 ms -> 1.100 ms per step")
    assert cli.main(["diff", *two, "--fail-over", "12.5%"]) == 0
    assert cli.main(["diff", *two]) == 0
    assert cli.main(["diff", *reversed(two), "--fail-over", "0%"]) == 0


def test_of_a_part(two: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", *two, "--fail-over", "4%", "--of", "kernel"]) == 1
    assert cli.main(["diff", *two, "--fail-over", "6%", "--of", "kernel"]) == 0
    assert cli.main(["diff", *two, "--fail-over", "6%", "--of", "kernel", "--of", "step"]) == 1
    assert "kernel" not in capsys.readouterr().err.splitlines()[-1]


def test_noise_is_no_regression(tmp_path: Path) -> None:
    base = written(tmp_path / "b" / "w.1.pt.trace.json", 1000, 1900, 1000, 1900)
    now = written(tmp_path / "n" / "w.1.pt.trace.json", 1200, 1800, 1300, 1900)
    assert cli.main(["diff", str(base), str(now), "--fail-over", "1%"]) == 0


def test_json_is_the_views(two: tuple[str, str], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert cli.main(["diff", *two, "--by", "kernels", "--json"]) == 0
    own = capfdbinary.readouterr().out
    arguments = ["view", "diff", two[1], "--base", two[0], "--option", "by=kernels", "--json"]
    assert cli.main(arguments) == 0
    assert capfdbinary.readouterr().out == own
    assert json.loads(own)["by"] == "kernels"


def test_junit(two: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "report.xml"
    assert cli.main(["diff", *two, "--fail-over", "3%", "--junit", "-o", str(out)]) == 1
    suite = ElementTree.parse(out).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("9", "1")
    (failure,) = suite.iter("failure")
    assert "1.000 ms -> 1.100 ms" in (failure.get("message") or "")
    step = next(case for case in suite if case.get("name") == "step")
    assert float(step.get("time") or 0) == pytest.approx(0.0011, rel=1e-2)


@pytest.mark.parametrize("limit", ["3", "x%", "-1%"])
def test_bad_use(two: tuple[str, str], limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", *two, f"--fail-over={limit}"]) == 2
    assert "like 3%" in capsys.readouterr().err
    assert cli.main(["diff", *two, "--of", "step"]) == 2
    assert cli.main(["diff", *two, "--by", "colour"]) == 2
    assert cli.main(["diff", two[0], "/nowhere"]) == 2
