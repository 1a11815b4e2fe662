"""The pytest plugin records real steps, and fails a test over its budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import warm_python
from tests.unit.testing.test_pytest_plugin import run

TESTS = """
import pytest, torch

def train(size):
    return torch.mm(torch.ones(size, size), torch.ones(size, size))

@pytest.mark.profile_budget(step="1 ns", runs=2, repeat=4, warmup=1)
def test_over(profile_budget):
    for _ in profile_budget.steps():
        train(64)

@pytest.mark.profile_budget(step="1000 s", memory="1 GB", baseline="b.json", limit="100000%",
                            runs=2, repeat=4, warmup=1)
def test_within(profile_budget):
    for _ in range(14):
        with profile_budget.step():
            train(64)
"""


@pytest.mark.long
def test_budgets_of_real_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("tests.unit.testing.test_pytest_plugin.TESTS", TESTS)
    arguments = ("--profile-budget", "-p", "xdist", "--junitxml", "j.xml")
    modules = warm_python.TORCH
    code, output = run(tmp_path, *arguments, "--profile-baseline-write", modules=modules)
    assert code == 1, output
    assert "1 failed, 1 passed" in output
    assert "over budget\nstep (budget): " in output
    assert "train (test_one.py:4)" in output
    assert "\ntest_one.py::test_within\n  step (budget): " in output
    folder = tmp_path / ".profile-budget"
    traces = sorted(path.parent.name for path in folder.glob("*test_over/*/*.pt.trace.json"))
    assert traces == ["run-0", "run-1", "with-stacks"]
    assert "test_one.py::test_within" in (tmp_path / "b.json").read_text()
    assert "profile_budget" in (tmp_path / "j.xml").read_text()


@pytest.mark.exhaustive
def test_parallel_workers_say_that_they_measure_beside_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("tests.unit.testing.test_pytest_plugin.TESTS", TESTS)
    arguments = ("--profile-budget", "-p", "xdist", "-k", "within")
    run(tmp_path, *arguments, "--profile-baseline-write", modules=warm_python.TORCH)
    apart = ("-n", "2", "--dist", "loadgroup")
    code, output = run(tmp_path, *arguments, *apart, modules=warm_python.TORCH)
    assert code == 0, output
    assert "measure without -n" in output
    folder = tmp_path / ".profile-budget"
    assert list(folder.glob("gw*/*test_within/run-1/*.pt.trace.json"))
