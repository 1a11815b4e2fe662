"""Raw memory timelines of torch: totals and sums by category are those of plain loops."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import tb_privateuse1 as tbp
from tb_privateuse1 import inference, readers
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers.memory_timeline import MEMORY_TIMELINE, completion
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.encoding import encode
from tests.support import make
from tests.support.memory_timelines import START_NS, recorded, timeline, write
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


def recording(path: Path, events: list[list[int]]) -> Path:
    """A trace of an operator around the changes of a timeline, in microseconds of Unix time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    around = make.op("aten::mm", START_NS // 1000, 1000)
    path.write_text(json.dumps(make.document(around, *recorded(events))))
    return path


def parts(log: Path) -> dict[int, tuple[str, list[str]]]:
    """By rank, the name of the trace and of what it is read with."""
    found = catalog.scan(str(log), readers.READERS).files
    return {
        rank: (files.trace.name, [part.name for part in files.parts])
        for (_, rank, _), files in found.items()
    }


@pytest.mark.parametrize("name", ["a.raw.json", "z.raw.json"])
def test_beside_its_recording_it_adds_the_bytes_by_category(tmp_path: Path, name: str) -> None:
    events = timeline(50)
    recording(tmp_path / "log" / "host_1.pt.trace.json", events)
    write(tmp_path / "log" / name, events)
    assert parts(tmp_path / "log") == {0: ("host_1.pt.trace.json", [name])}
    trace = tbp.open(tmp_path / "log").trace()
    assert len(trace.ops) == 1
    alone = inference.build_trace(readers.read(str(tmp_path / "log" / name)), None)
    assert trace.counter_samples.value.tolist() == alone.counter_samples.value.tolist()
    assert [trace.text(key) for key in trace.counter_series.key] == [
        alone.text(key) for key in alone.counter_series.key
    ]
    assert trace.text(trace.counter_series.name[0]) == f"Memory by category, of {name} (bytes)"
    assert "memory_timeline_other" not in {finding.code for finding in trace.meta.findings}


def test_of_two_recordings_it_adds_to_its_own(tmp_path: Path) -> None:
    events = timeline(50)
    recording(tmp_path / "rank0.pt.trace.json", events)
    recording(tmp_path / "rank1.pt.trace.json", timeline(50, seed=2))
    write(tmp_path / "memory.raw.json", events)
    opened = tbp.open(tmp_path)
    run = opened.runs.runs[0].run
    assert len(opened.trace(run, 0).counter_samples)
    other = opened.trace(run, 1)
    assert not len(other.counter_samples)
    assert "memory_timeline_other" in {finding.code for finding in other.meta.findings}


def test_a_recording_without_memory_takes_no_timeline(tmp_path: Path) -> None:
    recording(tmp_path / "h_1.pt.trace.json", [])
    for name, events in (("a.json", timeline()), ("b.json", [[-1, 1, 512, 0]])):
        write(tmp_path / name, events)
    trace = tbp.open(tmp_path).trace()
    codes_of_trace = [finding.code for finding in trace.meta.findings]
    assert codes_of_trace.count("memory_timeline_other") == 2
    assert not len(trace.counter_samples)


def test_a_timeline_of_a_rank_without_recording_is_a_warning(tmp_path: Path) -> None:
    recording(tmp_path / "rank0.pt.trace.json", timeline())
    write(tmp_path / "memory_rank1.raw.json", timeline())
    assert parts(tmp_path) == {0: ("rank0.pt.trace.json", [])}
    [warning] = catalog.scan(str(tmp_path), readers.READERS).runs.warnings
    assert warning.message.startswith("memory_rank1.raw.json is a memory timeline of torch")


def test_timelines_alone_are_recordings(tmp_path: Path) -> None:
    for name in ("rank0.raw.json", "rank1.raw.json"):
        write(tmp_path / name, timeline())
    assert parts(tmp_path) == {0: ("rank0.raw.json", []), 1: ("rank1.raw.json", [])}
    assert catalog.scan(str(tmp_path), readers.READERS).runs.warnings == ()
    recording(tmp_path / "h_1.pt.trace.json", timeline())
    assert parts(tmp_path / "rank0.raw.json") == {0: ("rank0.raw.json", [])}


def test_a_damaged_timeline_beside_a_recording_is_a_finding(tmp_path: Path) -> None:
    raw = readers.read(str(recording(tmp_path / "t.pt.trace.json", timeline())))
    path = tmp_path / "gone.raw.json"
    path.write_text("[[1, 9, 1, 1]]")
    with pytest.raises(TraceError):  # readers.complete makes it the finding part_unreadable
        completion.add(raw, str(path))
