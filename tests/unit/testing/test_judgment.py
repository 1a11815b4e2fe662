"""The verdict on a test's runs, by its budget and by a baseline."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1.testing.budget import Budget, BudgetError, read_budget
from tb_privateuse1.testing.judgment import exceeds, judge
from tb_privateuse1.testing.recording import ProfileBudget
from tests.support import make, trace_files


def recorded(folder: Path, *lengths_us: float, launches: int = 1) -> list[Path]:
    """Runs with four steps of about these lengths each."""
    traces = []
    for run, us in enumerate(lengths_us):
        events: list[make.Event] = []
        at = 0.0
        for i in range(4):
            events += [
                make.step(i, at, at + us + i),
                make.frame("train.py(7): step", at + 0.5, at + 40),
                make.op("aten::mm", at + 1, at + 30),
            ]
            for n in range(launches):
                number, start = i * launches + n + 1, at + 4 + n * us / 2 / launches
                events += [
                    make.launch(at + 2 + n, at + 2.5 + n, number),
                    make.kernel("gemm", start, start + us / 2 / launches, number),
                ]
            at += us + 100
        path = folder / f"run-{run}" / "w.1.pt.trace.json"
        traces.append(trace_files.write(path, make.document(*events)).parent)
    return traces


def test_within_the_budget(tmp_path: Path) -> None:
    budget = Budget(step="1.2 ms", device_time="600 us", launches=1)
    traces = recorded(tmp_path, 1000, 1001, 1002)
    found = judge(traces, budget, None, "t")
    assert found.problem is None
    assert [line.split(":")[0] for line in found.lines] == [
        "step (budget)", "device_time (budget)", "launches (budget)"
    ]  # fmt: skip
    assert all(line.endswith("ok") for line in found.lines)
    assert not exceeds(traces, budget)


def test_over_the_budget(tmp_path: Path) -> None:
    traces = recorded(tmp_path, 1000, 1001, 1002, launches=2)
    budget = Budget(step="0.9 ms", launches=1)
    assert exceeds(traces, budget)
    problem = judge(traces, budget, None, "t").problem or ""
    assert "step (budget): 1.002 ms per step, " in problem
    assert "at most 900.000 µs is allowed, slower" in problem
    assert "launches (budget): 2 per step, at most 1 is allowed, more" in problem
    assert "aten::mm: 500.500 µs of device time, in step (train.py:7)" in problem
    assert problem.endswith(f"trace: {traces[0]}")


@pytest.mark.long
def test_against_a_baseline(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    budget = Budget(baseline="b.json")
    base = recorded(tmp_path / "base", 1000, 1001, 1002)
    file.write_text('{"schema": "tb_privateuse1.baseline/1", "workloads": {}}')
    with pytest.raises(BudgetError, match="--profile-baseline-write"):
        judge(base, budget, file, "t")
    assert judge(base, budget, file, "t", is_written=True).problem is None
    slow = recorded(tmp_path / "slow", 1100, 1101, 1102)
    problem = judge(slow, budget, file, "t").problem or ""
    assert "step: 1.002 ms -> 1.103 ms per step, +100.000 µs ± " in problem
    assert "  aten::mm: 500.500 µs -> 550.500 µs per step" in problem
    assert judge(slow, Budget(limit="15%"), file, "t").problem is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"steps": "3 ms"}, "no argument steps"),
        ({"step": 3}, "step must be str"),
        ({"launches": "3"}, "launches must be int"),
        ({"stacks": 1}, "stacks must be bool"),
        ({"repeat": 0}, "at least 1"),
    ],
)
def test_a_wrong_marker(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(BudgetError, match=says):
        read_budget(arguments)


def test_nothing_is_recorded_without_a_folder() -> None:
    found = ProfileBudget(Budget(), None)
    assert list(found.steps()) == [0]
    with found.step():
        pass
    assert found.traces == []


def test_too_few_steps_are_named(tmp_path: Path) -> None:
    found = ProfileBudget(Budget(runs=2, repeat=4, warmup=1), tmp_path / "t")
    with found.step():
        pass
    with pytest.raises(BudgetError, match="the test made 1 steps, and its budget needs 12"):
        _ = found.traces
