"""``tb-privateuse1 diff``: forms, and when it fails."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tb_privateuse1 import cli
from tests.support import make, trace_files


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
    return trace_files.write(path, make.document(*events))


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    base = written(tmp_path / "base" / "w.1.pt.trace.json", 999, 1001, 1000, 1000)
    now = written(tmp_path / "now" / "w.1.pt.trace.json", 1099, 1101, 1100, 1100)
    return str(base), str(now)


@pytest.mark.long
def test_a_regression_beyond_the_limit_fails(
    two: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["diff", *two, "--fail-over", "3%"]) == 1
    out, err = capsys.readouterr()
    assert "| **step** | 1.000 ms | 1.100 ms | 100.000 µs | 10.0 % |" in out
    assert "`aten::mm`" in out
    assert err.startswith("tb-privateuse1: step: 1.000 ms -> 1.100 ms per step")
    assert cli.main(["diff", *two, "--fail-over", "12.5%"]) == 0
    assert cli.main(["diff", *two]) == 0
    assert cli.main(["diff", *reversed(two), "--fail-over", "0%"]) == 0


@pytest.mark.long
def test_of_a_part(two: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", *two, "--fail-over", "4%", "--of", "kernel"]) == 1
    assert cli.main(["diff", *two, "--fail-over", "6%", "--of", "kernel"]) == 0
    assert cli.main(["diff", *two, "--fail-over", "6%", "--of", "kernel", "--of", "step"]) == 1
    assert "kernel" not in capsys.readouterr().err.splitlines()[-1]


def test_noise_is_no_regression(tmp_path: Path) -> None:
    base = written(tmp_path / "b" / "w.1.pt.trace.json", 1000, 1900, 1000, 1900)
    now = written(tmp_path / "n" / "w.1.pt.trace.json", 1200, 1800, 1300, 1900)
    assert cli.main(["diff", str(base), str(now), "--fail-over", "1%"]) == 0


@pytest.mark.long
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
    assert (suite.get("tests"), suite.get("failures")) == ("10", "1")
    (failure,) = suite.iter("failure")
    assert "1.000 ms -> 1.100 ms" in (failure.get("message") or "")
    step = next(case for case in suite if case.get("name") == "step")
    assert float(step.get("time") or 0) == pytest.approx(0.0011, rel=1e-2)


@pytest.mark.parametrize("limit", ["3", "x%", "-1%"])
def test_bad_use(two: tuple[str, str], limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", *two, f"--fail-over={limit}"]) == 2
    assert "like 3%" in capsys.readouterr().err
    assert cli.main(["diff", *two, "--of", "step"]) == 2
    assert cli.main(["diff", *two, "--by", "color"]) == 2
    assert cli.main(["diff", two[0], "/nowhere"]) == 2


def remembered(path: Path, *sizes: int) -> Path:
    """A trace with a step of the same length per size, in which so much is allocated and freed."""
    events: list[make.Event] = []
    for i, size in enumerate(sizes):
        at = 100.0 * i
        events += [
            make.step(i, at, at + 100), make.op("aten::mm", at + 1, at + 30),
            make.memory(at + 5, size, 1000 + size), make.memory(at + 20, -size, 1000),
        ]  # fmt: skip
    return trace_files.write(path, make.document(*events))


@pytest.fixture
def grown(tmp_path: Path) -> tuple[str, str]:
    base = remembered(tmp_path / "base" / "w.1.pt.trace.json", 1000, 1000, 1000)
    now = remembered(tmp_path / "now" / "w.1.pt.trace.json", 1200, 1200, 1200)
    return str(base), str(now)


@pytest.mark.long
def test_of_memory(grown: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    # The step itself takes as long as before.
    assert cli.main(["diff", *grown, "--fail-over", "1%"]) == 0
    assert cli.main(["diff", *grown, "--fail-over", "9%", "--of", "memory"]) == 1
    out, err = capsys.readouterr()
    assert err == (
        "tb-privateuse1: peak of PrivateUse1 0: 1.953 KiB -> 2.148 KiB per step, "
        "200 B (10.0 %), more\n"
    )
    assert (
        "| **peak**, `PrivateUse1 0` | 1.953 KiB | 2.148 KiB | 200 B | 10.0 % | 0 B | more |" in out
    )
    assert "| `aten::mm`, `PrivateUse1 0` | 1000 B | 1.172 KiB | 200 B | 20.0 % |" in out
    assert cli.main(["diff", *grown, "--fail-over", "11%", "--of", "memory"]) == 0
    assert cli.main(["diff", *grown, "--fail-over", "11%", "--of", "allocated"]) == 1
    assert cli.main(["diff", *reversed(grown), "--fail-over", "0%", "--of", "memory"]) == 0
    assert cli.main(["diff", *grown, "--fail-over", "0%", "--of", "allocations"]) == 0


def test_growth_is_judged_by_the_peak(tmp_path: Path) -> None:
    def leaking(name: str, bytes_per_step: int) -> str:
        events = [
            one
            for i in range(4)
            for one in (make.step(i, 100 * i, 100 * i + 99),
                        make.memory(100 * i + 9, bytes_per_step, 1000 + bytes_per_step * (i + 1)))
        ]  # fmt: skip
        return str(trace_files.write(tmp_path / name / "w.1.pt.trace.json", make.document(*events)))

    two = leaking("a", 100), leaking("b", 200)
    # 100 more per step, of a mean peak of 1250: 8 %
    assert cli.main(["diff", *two, "--fail-over", "7%", "--of", "growth"]) == 1
    assert cli.main(["diff", *two, "--fail-over", "9%", "--of", "growth"]) == 0


def test_memory_that_nobody_recorded_cannot_be_judged(
    two: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["diff", *two, "--fail-over", "3%", "--of", "memory"]) == 2
    assert "profile_memory=True" in capsys.readouterr().err


def test_memory_in_json_and_junit(grown: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "report.xml"
    limit = ["--fail-over", "3%", "--of", "memory", "-o", str(out)]
    assert cli.main(["diff", *grown, *limit, "--junit"]) == 1
    suite = ElementTree.parse(out).getroot()
    cases = {(c.get("classname"), c.get("name")): c for c in suite}
    assert suite.get("tests") == str(len(cases)) == str(10 + 6)
    (failed,) = (key for key, case in cases.items() if case.find("failure") is not None)
    assert failed == ("diff.memory.PrivateUse1 0", "peak")
    assert cli.main(["diff", *grown, *limit, "--json"]) == 1
    told = {row["name"]: row for row in json.loads(out.read_bytes())["memory"]}
    assert (told["peak"]["base"], told["peak"]["now"]) == (2000, 2200)
    assert (told["allocated"]["change"], told["allocated"]["unit"]) == (200, "bytes")
    assert told["allocations"]["now"] == 1
