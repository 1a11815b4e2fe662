"""Raw memory timelines of torch: totals and sums by category are those of plain loops."""

from __future__ import annotations

import gzip
import json
import random
import time
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
from tests.support.database_mutation import mutated
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


def outcome(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    started = time.process_time()
    try:
        raw = readers.read(str(path))
        inference.build_trace(raw, None)
    except TraceError as error:
        return error.code
    finally:
        assert time.process_time() - started < 10
    if raw.reader != "memory_timeline":
        return "another"
    if codes(raw) & {"truncated", "damaged"}:
        return "partial"
    events = json.loads(data)
    valid = [e for e in events if 1 <= e[1] <= 4 and 0 <= e[3] <= 7]
    kept = [e for e in valid if abs(e[0]) < 1 << 61 and abs(e[2]) < 1 << 48]
    expected = sum(size for _, action, size, _ in kept if action != 3)
    assert int(raw.memory.id("memory_bytes").sum()) == expected
    return "same"


def mutations(count: int, seed: int, path: Path) -> Counter[str]:
    """What becomes of mutated files."""
    rng = random.Random(seed)
    data = json.dumps(timeline(15)).encode()
    found: Counter[str] = Counter()
    for i in range(count):
        changed = bytearray(data)
        if i % 2:
            for _ in range(rng.randint(1, 4)):  # digits stay digits: the file stays JSON
                at = rng.randrange(len(changed))
                if chr(changed[at]).isdigit():
                    changed[at] = rng.choice(b"123456789")
        found[outcome(path, bytes(changed) if i % 2 else mutated(data, rng))] += 1
    return found


def test_mutated_files_have_right_sums(tmp_path: Path) -> None:
    found = mutations(200, 1, tmp_path / "a.raw.json")
    assert found["same"] > 50
