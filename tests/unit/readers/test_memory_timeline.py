"""Raw memory timelines of torch: totals and sums by category are those of plain loops."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1 import inference, readers
from tb_privateuse1.readers.memory_timeline import MEMORY_TIMELINE
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.encoding import encode
from tests.support.memory_timelines import START_NS, timeline
from tests.support.results import result

SAMPLE = Path(__file__).parent / "samples" / "memory_timeline.json"


def raw_of(path: Path, events: Any) -> Raw:
    path.write_text(events if isinstance(events, str) else json.dumps(events))
    return readers.read(str(path))


def codes(raw: Raw) -> set[str]:
    return {finding.code for finding in raw.findings}


def test_totals_and_sums_by_category_are_those_of_plain_loops(tmp_path: Path) -> None:
    events = timeline(200)
    raw = raw_of(tmp_path / "a.raw.json", events)
    assert raw.reader == "memory_timeline"
    sums: dict[int, list[float]] = defaultdict(list)
    by_category: Counter[int] = Counter()
    for _, _, size, category in events:
        by_category[category] += size
        sums[category].append(float(by_category[category]))
    assert raw.memory.id("allocated_bytes").tolist() == _totals(events)
    series, samples = raw.counters.series, raw.counters.samples
    for row, key in enumerate(series.key.tolist()):
        assert samples.value[samples.series == row].tolist() == sums[key - 4]
    assert codes(raw) == {"memory_timeline_alone"}


def _totals(events: list[list[int]]) -> list[int]:
    total, found = 0, []
    for _, action, size, _ in events:
        if action != 3:
            total += size
            found.append(total)
    return found


def test_packed_files_and_single_events(tmp_path: Path) -> None:
    events = timeline()
    path = tmp_path / "a.raw.json.gz"
    path.write_bytes(gzip.compress(json.dumps(events).encode()))
    raw = readers.read(str(path))
    assert raw.base_ns == events[2][0]
    assert MEMORY_TIMELINE.record(str(path), raw.checkpoints, 2) == {
        "time_ns": events[2][0], "action": "create", "bytes": events[2][2],
        "category": MEMORY_TIMELINE.record(str(path), raw.checkpoints, 2)["category"],
    }  # fmt: skip
    with pytest.raises(TraceError):
        MEMORY_TIMELINE.record(str(path), raw.checkpoints, len(events))


def test_a_cut_file_shows_what_is_whole(tmp_path: Path) -> None:
    text = json.dumps(timeline(100))
    raw = raw_of(tmp_path / "a.json", text[: len(text) // 2])
    assert "truncated" in codes(raw)
    assert len(raw.memory) > 40


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_opens(name: str) -> None:
    trace = inference.build_trace(readers.read(str(SAMPLE)), None)
    assert encode(result(VIEWS[name], trace))


def test_sums_alone_and_the_web_page_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="sums by category") as caught:
        raw_of(tmp_path / "a.json", [[START_NS, START_NS + 1], [[0, 1, 2], [0, 3, 4]]])
    assert "raw.json.gz" in (caught.value.hint or "")
    page = '<html>\n<head><meta charset="utf-8" /><title>GPU Memory Timeline HTML</title></head>'
    with pytest.raises(TraceError, match="picture"):
        raw_of(tmp_path / "a.html", page)
