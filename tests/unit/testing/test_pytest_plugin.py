"""The pytest plugin in a pytest of its own, where nothing is recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import warm_python

ROOT = Path(__file__).parents[3]
PLUGIN = "tb_privateuse1.testing.pytest_plugin"

TESTS = """
import pytest

@pytest.mark.profile_budget(step="1 ns")
def test_measured(profile_budget):
    assert list(profile_budget.steps()) == [0]

@pytest.mark.profile_budget(step="1 ns")
def test_without_fixture():
    pass
"""


def run(folder: Path, *arguments: str, modules: Sequence[str] = ("pytest",)) -> tuple[int, str]:
    """Return the exit code and the output of pytest in a folder; warnings are errors.

    Its process is a fork of one that has imported ``modules``.
    """
    (folder / "test_one.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    command = ["-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "-W", "error", *arguments]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
    }
    done = warm_python.run(modules, command, cwd=folder, env=environment, timeout=120)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_without_the_option_tests_just_run(tmp_path: Path) -> None:
    code, output = run(tmp_path)
    assert code == 0, output
    assert "2 passed" in output
    assert "profile budgets" not in output
    assert not (tmp_path / ".profile-budget").exists()


@pytest.mark.long
def test_a_marked_test_needs_the_fixture(tmp_path: Path) -> None:
    code, output = run(tmp_path, "--profile-budget", "-k", "without_fixture")
    assert code == 1, output
    assert "needs the fixture profile_budget" in output


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--profile-baseline-write",), "needs --profile-budget"),
        (
            ("--profile-budget", "--profile-baseline-write", "-p", "xdist", "-n", "2"),
            "leave out -n",
        ),
    ],
)
def test_bad_use(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    code, output = run(tmp_path, *arguments)
    assert (code, says in output) == (4, True), output


@pytest.mark.long
def test_the_plugin_imports_nothing_heavy() -> None:
    heavy = ("torch", "numpy", "msgspec", "tb_privateuse1.api")
    program = f"import sys, {PLUGIN}; print([one for one in {heavy} if one in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
