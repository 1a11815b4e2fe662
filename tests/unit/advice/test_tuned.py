"""Tuned programs, recorded live: the advice has nothing to say.

The recordings in ``traces/tuned`` are of ``python -m benchmarks.planted record`` with ``--programs
tuned``, and with ``--programs blind-tuned`` all but ``forecasts``, which is as large as the others
together.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.pairs.prediction import load
from benchmarks.pairs.record import BEFORE, TRUTH
from benchmarks.planted.table import loud
from tb_privateuse1.advice.engine import advise

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "tests" / "traces" / "tuned"
NAMES = list(json.loads((FOLDER / TRUTH).read_text())["pairs"])


@pytest.mark.parametrize("name", NAMES)
def test_no_finding_on_a_tuned_program(name: str) -> None:
    advice = advise(load(FOLDER / name / f"{BEFORE}.pt.trace.json.gz"))
    assert advice.steps >= 3
    assert [(row.rule, row.saving_share) for row in loud(advice)] == []


def test_every_tuned_program_is_documented() -> None:
    document = (ROOT / "docs" / "internals" / "advice-programs.md").read_text()
    assert [name for name in NAMES if f"| `{name}`: " not in document] == []
    assert len(NAMES) >= 10
