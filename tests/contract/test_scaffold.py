"""A scaffolded rule and view pass the registries' tests before their author changes a line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import scaffold

ROOT = Path(__file__).parents[2]


def run(tree: Path, *arguments: str) -> None:
    """Run Python in the tree and require success: a failure shows the output."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with a rule ``slow_logging`` and a view ``step_times``."""
    target = tmp_path_factory.mktemp("tree")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    for name in subprocess.check_output(command, cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).exists() and not name.startswith("examples/"):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    run(target, "-m", "tools.scaffold", "rule", "slow_logging", "launching")
    run(target, "-m", "tools.scaffold", "view", "step_times")
    run(target, "-m", "tb_privateuse1.server.typescript")
    run(target, "-m", "docs.generate")
    return target


@pytest.mark.long
def test_a_rule_passes_its_tests_and_the_registry(tree: Path) -> None:
    tests = (
        "tests/unit/advice/rules/test_registry.py",
        "tests/unit/advice/rules/test_slow_logging.py",
    )
    names = "slow_logging or every_rule_is or stand_by_cause"
    run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", names)


@pytest.mark.long
def test_a_view_passes_its_tests_and_the_contract(tree: Path) -> None:
    tests = "tests/unit/views/test_step_times.py", "tests/contract/test_contract.py"
    names = "step_times or documented_views"
    run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", names)


def test_a_rule_costs_3_files_and_a_view_8(tmp_path: Path) -> None:
    changed = (
        "tb_privateuse1/advice/rules/__init__.py",
        "tb_privateuse1/views/__init__.py",
        "frontend/src/pages/index.ts",
        "frontend/src/i18n/en/index.ts",
        "docs/guide/pages.md",
    )
    for name in changed:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    rule = scaffold.write_rule(tmp_path, "slow_logging")
    view = scaffold.write_view(tmp_path, "step_times")
    written = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert (len(rule), len(view)) == (3, 8)
    assert {*rule, *view} == written


@pytest.mark.parametrize("name", ["Foo", "class", "a-b", "_a", "casts"])
def test_a_name_that_cannot_be_used_is_an_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"exists|snake_case"):
        scaffold.write_rule(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_cause_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="CAUSE is one of input, launching"):
        scaffold.write_rule(tmp_path, "slow_logging", "wizardry")


def test_without_a_name_the_usage_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert scaffold.main(["rule"]) == 1
    assert "usage: make new-rule NAME=" in capsys.readouterr().err
