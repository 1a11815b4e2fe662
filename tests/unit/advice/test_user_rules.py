"""Users' rules from files and packages, and the errors of unusable ones."""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_privateuse1.advice import user_rules
from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.trace.errors import TraceError
from tests.support.program import Program

DOCUMENT = Path(__file__).parents[3] / "docs" / "guide" / "advice.md"
EXAMPLE = re.search(r"```python\n(# checkpoints.*?)```", DOCUMENT.read_text(), re.DOTALL)


def example() -> str:
    assert EXAMPLE is not None
    return EXAMPLE[1]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "checkpoints.py"
    path.write_text(example())
    monkeypatch.setenv(user_rules.VARIABLE, str(path))
    return path


def program() -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=50)
            with run.range("save_checkpoint"):
                run.rest(500)
            run.op("aten::mm", 10, kernel=50)
    return run


def test_the_documents_example_works(own: Path) -> None:
    result = advise(program().trace(), rules=user_rules.from_environment().load())
    (row,) = (row for row in result.rows if row.rule == "checkpoints")
    assert row.title == "3 checkpoints are written in the loop"
    assert row.saving_ns is not None
    assert row.saving_ns > 3 * 400_000
    assert [one.rule for one in result.asked] == [*RULES, "checkpoints"]


def test_without_a_file_there_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(user_rules.VARIABLE, raising=False)
    assert user_rules.from_environment().load() == tuple(RULES.values())


def test_a_changed_file_is_run_again(own: Path) -> None:
    assert user_rules.from_environment().load()[-1].title == "Checkpoints in the loop"
    own.write_text(example().replace("Checkpoints in the loop", "Renamed"))
    os.utime(own, ns=(1, 1))
    assert user_rules.from_environment().load()[-1].title == "Renamed"


def test_ours_can_be_replaced(own: Path) -> None:
    own.write_text(example().replace('name="checkpoints"', 'name="host_bound"'))
    os.utime(own, ns=(2, 2))
    rules = user_rules.from_environment().load()
    assert len(rules) == len(RULES)
    assert next(r.fix for r in rules if r.name == "host_bound").startswith("Copy the")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("RULE = 1", "neither RULE nor RULES"),
        ("x = ", "cannot be run: SyntaxError"),
        ("raise SystemError('no')", "cannot be run: SystemError"),
        ("", "neither RULE nor RULES"),
    ],
)
def test_unusable_files_are_errors(own: Path, content: str, says: str) -> None:
    own.write_text(content)
    os.utime(own, ns=(3 + len(content), 3))
    with pytest.raises(TraceError, match=re.escape(says)) as error:
        user_rules.from_environment().load()
    assert error.value.code == "bad_rules"
    assert str(own.parent) not in error.value.message


def test_an_unknown_cause(own: Path) -> None:
    own.write_text(example().replace('cause="launching"', 'cause="magic"'))
    os.utime(own, ns=(4, 4))
    with pytest.raises(TraceError, match="its cause must be one of"):
        user_rules.from_environment().load()


def test_a_file_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(user_rules.VARIABLE, "/nowhere/rules.py")
    with pytest.raises(TraceError, match=r"rules.py: cannot be read: No such file"):
        user_rules.from_environment().load()


@pytest.fixture
def fresh() -> Iterator[None]:
    user_rules._of_packages.cache_clear()
    yield
    user_rules._of_packages.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_rules_of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    point = importlib.metadata.EntryPoint(
        "one", "tb_privateuse1.advice.rules.host_bound:RULE", user_rules.GROUP
    )
    points = {user_rules.GROUP: (point,)}
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points[group])
    assert [rule.name for rule in user_rules.from_environment().load()][-1] == "host_bound"


def test_a_file_that_breaks_while_a_server_runs_costs_no_answer(
    own: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rules = user_rules.from_environment()
    before = rules.usable()
    assert before[-1].name == "checkpoints"
    own.write_text("x = ")
    os.utime(own, ns=(5, 5))
    assert rules.usable() == rules.usable() == before
    (line,) = caplog.messages
    assert "checkpoints.py: cannot be run: SyntaxError" in line
    own.write_text(example().replace("Checkpoints in the loop", "Mended"))
    os.utime(own, ns=(6, 6))
    assert rules.usable()[-1].title == "Mended"


def test_the_environment_is_read_once(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = user_rules.from_environment()
    monkeypatch.delenv(user_rules.VARIABLE)
    assert rules.load()[-1].name == "checkpoints"
