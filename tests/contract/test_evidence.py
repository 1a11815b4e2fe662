"""Each rule is right in a recording: a judged one, a planted fault's, or one of the registry's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.planted.evidence import FURTHER
from benchmarks.planted.expected import RULES_OF
from docs.generate.evidence import PROGRAMS as ROUNDS
from docs.generate.evidence import found_in, right_on
from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules import RULES
from tests.support.shared_traces import FOLDER, load, needs_traces

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "internals" / "advice.md").read_text()
RIGHT, FOUND = right_on(DOCUMENT), found_in(DOCUMENT + ROUNDS.read_text())
PROGRAMS = "".join(
    path.read_text()
    for path in (ROOT / "benchmarks" / "planted").glob("*.py")
    if path.stem not in ("expected", "evidence")
)


def of_kind(kind: str) -> list[str]:
    return [rule for rule, evidence in FURTHER.items() if evidence.kind == kind]


def speaks(rule: str, path: Path) -> bool:
    advice = advise(load(path), rules=(RULES[rule],))
    return [row.rule for row in advice.rows] == [rule] and advice.asked[0].answer == "found"


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_evidence(rule: str) -> None:
    """Plant its fault in a program of ``benchmarks/planted``, or name a recording in FURTHER."""
    evidence = RIGHT.keys() | FOUND.keys() | FURTHER.keys()
    assert rule in evidence, "a recording in benchmarks/planted/evidence.py"


def test_the_registry_has_no_rule_that_is_gone_or_shown_elsewhere() -> None:
    assert FURTHER.keys() <= set(RULES)
    assert FURTHER.keys() & (RIGHT.keys() | FOUND.keys()) == set()


@pytest.mark.parametrize("fault", sorted({fault for some in FOUND.values() for fault in some}))
def test_a_fault_of_the_tables_is_planted(fault: str) -> None:
    assert re.search(rf'"{fault}"|def {fault}\(', PROGRAMS)
    assert {rule for rule, faults in FOUND.items() if fault in faults} <= set(RULES_OF[fault])


@pytest.mark.parametrize("rule", of_kind("test"))
def test_a_test_records_the_fault(rule: str) -> None:
    assert f'["{rule}"]' in (ROOT / FURTHER[rule].path).read_text()


@pytest.mark.parametrize("rule", of_kind("sample"))
@pytest.mark.long
def test_a_rule_speaks_on_its_sample(rule: str) -> None:
    assert speaks(rule, ROOT / FURTHER[rule].path)


@needs_traces
@pytest.mark.parametrize("rule", of_kind("shared"))
def test_a_rule_speaks_on_its_shared_recording(rule: str) -> None:
    assert speaks(rule, FOLDER.parent / FURTHER[rule].path)
