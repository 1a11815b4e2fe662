"""What fires on real traces, bounds, and that each finding is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.make import kernel, op, trace
from tests.support.quality import sound
from tests.support.shared_traces import TRACES, load

DEFINITIONS = Path(__file__).parents[2] / "docs" / "reference" / "definitions.md"


def test_categories_that_no_one_knows_are_bounded() -> None:
    events = [kernel(f"k{i}", i, i + 1, category=f"acme{i:04}" + "x" * 300) for i in range(2000)]
    t = trace(op("a", 0, 10), *events)
    told = [f for f in t.meta.findings if f.code == "unknown_category"]
    assert len(told) == 6
    assert sum(f.count or 0 for f in told) == 2000
    assert "1,001 events of the unknown category '(others)'" in told[0].message
    assert "995 more unknown categories" in told[-1].message
    assert len(t.meta.events) <= 51
    assert sum(t.meta.events.values()) == 2001
    assert max(map(len, t.meta.events)) <= 80


def test_long_names_are_cut_in_examples() -> None:
    finding = trace(*sound(), kernel("n" * 10_000, 50, 90)).meta.findings[0]
    assert len(finding.examples[0].name) == 200


@pytest.mark.skipif(not TRACES, reason="the shared traces are not here")
def test_what_fires_on_real_traces() -> None:
    """Looked at one by one: each is so in the file. Anything more would be a false alarm."""
    codes = {
        path.parent.name: {f.code: f.count for f in load(path).meta.findings} for path in TRACES
    }
    assert codes["blocks_host_primed"] == {"step_primed": 1}
    sound_ones = [name for name, told in codes.items() if not told.keys() - {"step_primed"}]
    assert len(sound_ones) >= 20
    doubts = {code for told in codes.values() for code in told}
    assert not {c for c in doubts if re.match(r"duplicated|clock|far|.*outside$", c)}
    # Ranges of asynchronous collectives end after the operator in which they begin.
    crossing = {name: told for name, told in codes.items() if "crossing_ops" in told}
    assert {name: told["crossing_ops"] for name, told in crossing.items()} == {"training": 98}
    assert codes["b200_eager"] == {
        "activities_without_operator": 2, "frames_without_parent": 4, "overlapping_activities": 74,
    }  # fmt: skip
    assert codes["mi300_resnet_ddp"] == {"unlinked_activities": 968}
    assert codes["h100_bert"] == {"launches_without_activity": 22}
    assert codes["vllm_decode_graph"] == {
        "activities_without_operator": 421, "frames_without_parent": 478,
    }  # fmt: skip
    assert codes["mi250_minitoy"] == {"incomplete_steps": 1}


def test_every_finding_is_documented() -> None:
    package = Path(__file__).parents[2] / "tb_privateuse1"
    text = "".join(
        path.read_text() for f in ("readers", "inference") for path in package.glob(f"{f}/**/*.py")
    )
    text += (package / "storage" / "ingest.py").read_text()
    codes = set(re.findall(r'(?:Finding|_unusable|lack)\(\s*f?"(\w+?)(?:_\{table\})?"', text))
    codes |= set(re.findall(r'"(\w+)": _Words\(', text))
    assert len(codes) > 45
    told = DEFINITIONS.read_text()
    assert {code for code in codes if f"`{code}" not in told} == set()
