"""Scaffolds write what a rule and a view need; ``test_contributing.py`` shows that it is enough."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools import scaffold

ROOT = Path(__file__).parents[2]


def test_a_rule_costs_4_files_and_a_view_9(tmp_path: Path) -> None:
    changed = (
        "tb_privateuse1/advice/rules/__init__.py",
        "benchmarks/planted/evidence.py",
        "tb_privateuse1/views/__init__.py",
        "frontend/src/pages/index.ts",
        "frontend/src/i18n/en/index.ts",
        "docs/guide/pages.md",
        "docs/reference/definitions.md",
    )
    for name in changed:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    rule = scaffold.write_rule(tmp_path, "slow_logging")
    view = scaffold.write_view(tmp_path, "step_times")
    written = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert (len(rule), len(view)) == (4, 9)
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
