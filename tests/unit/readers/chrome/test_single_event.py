"""Any row's event can be read again, with all that the file has of it."""

from __future__ import annotations

import gzip
import json
import random
import resource
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.readers import chrome
from tb_privateuse1.readers.chrome import checkpoints as chrome_checkpoints
from tb_privateuse1.readers.chrome import windows
from tb_privateuse1.readers.chrome.single_event import read_event
from tb_privateuse1.readers.raw import Group, Raw
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.file_checkpoints import Checkpoints
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tests.support import make
from tests.support.repeats import repeats, sampled
from tests.support.shared_traces import TRACES, load, needs_traces
from tests.unit.test_fuzz import MUTATIONS, corpus


def ns(value: Any) -> int:
    """Microseconds in any spelling to ns."""
    return int((Decimal(value) * 1000).to_integral_value())


def sample(length: int, count: int = 6) -> list[int]:
    return sorted({0, length - 1, *random.Random(length).sample(range(length), min(count, length))})


def check_raw(path: Path, raw: Raw, count: int = 6) -> int:
    """Compare some rows of every group with their events; how many."""
    checked = 0
    for group in [*raw.groups.values(), raw.memory]:
        for row in sample(len(group), count) if len(group) else ():
            check_row(path, raw, group, row)
            checked += 1
    return checked


def check_row(path: Path, raw: Raw, group: Group, row: int) -> None:
    event = read_event(str(path), raw.checkpoints, int(group.event[row]))
    if isinstance(told := event.get("name", ""), str):  # else shown in some other spelling
        assert told == raw.strings[group.name[row]]
    assert ns(event["ts"]) == group.start_ns[row]
    if event["ph"] == "X":
        length = max(0, ns(event.get("dur") or 0))
        assert length == group.end_ns[row] - group.start_ns[row]


def check_trace(path: Path, trace: Trace) -> int:
    checked = 0
    for table in (trace.ops, trace.frames, trace.launches, trace.kernels):
        for row in sample(len(table)) if len(table) else ():
            if table.event[row] == NONE:
                assert table is trace.kernels
                assert trace.meta.timeline == "inferred"
                continue
            event = read_event(str(path), trace.checkpoints, int(table.event[row]))
            assert event["name"] == trace.text(table.name[row])
            assert ns(event["ts"]) - trace.start_ns == table.start_ns[row]
            assert ns(event["dur"]) == table.end_ns[row] - table.start_ns[row]
            checked += 1
    for row in sample(len(trace.memory)) if len(trace.memory) else ():
        event = read_event(str(path), trace.checkpoints, int(trace.memory.event[row]))
        assert event["name"] == "[memory]"
        assert ns(event["ts"]) - trace.start_ns == trace.memory.ts_ns[row]
        assert event["args"].get("Addr", MISSING) == trace.memory.address[row]
        checked += 1
    return checked


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES), ids=lambda p: p.parent.name)
def test_rows_of_real_traces(path: Path) -> None:
    assert check_trace(path, load(path)) >= 6


def test_all_fields_and_numbers_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        '{"traceEvents": [{"ph": "M"}, {"ph": "X", "cat": "kernel", "name": "k",'
        ' "ts": 1663123456789012.001, "dur": 0.1, "tid": 18446744073709551615,'
        ' "args": {"grid": [1, 2, 3], "occupancy": 0.30, "x": null}}]}'
    )
    raw = chrome.read(str(path))
    assert raw.groups["kernel"].event.tolist() == [1]
    assert read_event(str(path), raw.checkpoints, 1) == {
        "ph": "X", "cat": "kernel", "name": "k", "ts": Decimal("1663123456789012.001"),
        "dur": Decimal("0.1"), "tid": 18446744073709551615,
        "args": {"grid": [1, 2, 3], "occupancy": Decimal("0.30"), "x": None},
    }  # fmt: skip


def test_dropped_and_repaired_events_keep_the_count(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        '[{"ph":"X","cat":"cpu_op","name":"odd","ts":[],"args":7}, 5,'
        ' {"ph":"X","cat":"cpu_op","name":"no time"},'
        ' {"ph":"X","cat":"cpu_op","name":"C:\\Users","ts":1,"dur":2,"args":{"x":NaN}},'
        ' {"ph":"B","cat":"cpu_op","name":"b","ts":4}, {"ph":"E","ts":9},'
        ' {"ph":"X","cat":"cpu_op","name":"last","ts":5,"dur":1}]'
    )
    raw = chrome.read(str(path))
    group = raw.groups["cpu_op"]
    told = {raw.strings[n]: e for n, e in zip(group.name, group.event.tolist(), strict=True)}
    assert told == {"C:\\Users": 3, "b": 4, "last": 6}
    events = {name: read_event(str(path), raw.checkpoints, told[name]) for name in told}
    assert {name: event["name"] for name, event in events.items()} == {n: n for n in told}
    assert events["C:\\Users"]["args"] == {"x": None}


def test_an_argument_that_no_table_has_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(
        b'[{"ph":"X","cat":"cpu_op","name":"a","ts":1,"args":{"path":"C:\\Users\xff"}}]'
    )
    raw = chrome.read(str(path))
    assert read_event(str(path), raw.checkpoints, 0)["args"] == {"path": "C:\\Users\ufffd"}


def test_an_event_beyond_the_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(make.document(make.op("a", 0, 1), make.op("b", 2, 3))))
    checkpoints = chrome.read(str(path)).checkpoints
    for event in (2, NONE):
        with pytest.raises(TraceError, match="no such event"):
            read_event(str(path), checkpoints, event)
    assert read_event(str(path), Checkpoints.empty(), 1)["name"] == "b"


@pytest.fixture
def dense(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows so small and places so near that short files have many of them."""
    monkeypatch.setattr(windows, "WINDOW", 1 << 12)
    monkeypatch.setattr(windows, "_SMALL", 1 << 9)
    monkeypatch.setattr(chrome_checkpoints, "_EVERY_BYTES", 1)


@pytest.mark.usefixtures("dense")
@pytest.mark.parametrize("packed", [False, True])
def test_from_every_place_of_a_damaged_file(tmp_path: Path, packed: bool) -> None:
    events = [make.op(f"op {i} " + "x" * (i % 50), i, i + 0.5, id=i) for i in range(400)]
    text = json.dumps(make.document(*events), indent=1)
    for number, odd in ((50, '"op 50 '), (200, '"op 200 '), (201, '"op 201 '), (350, '"op 350 ')):
        text = text.replace(odd, odd[1:] if number % 50 == 0 else odd + "\\q")
    text = text[:-200].replace('"args"', '"args": {}, "more": [{"a": 1}], "args"')
    path = tmp_path / "t.json"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    raw = chrome.read(str(path))
    assert {f.code for f in raw.findings} == {"damaged", "truncated", "invalid_strings"}
    assert len(raw.checkpoints) > 20
    assert len(raw.groups["cpu_op"]) > 390
    assert check_raw(path, raw, 400) == len(raw.groups["cpu_op"])


@pytest.mark.usefixtures("dense")
def test_several_lists(tmp_path: Path) -> None:
    some, more = ([make.op(f"{part}{i}", i, i + 1) for i in range(60)] for part in "ab")
    path = tmp_path / "t.json"
    path.write_text(
        f'{{"traceEvents": {json.dumps(some)}, "a": 1, "traceEvents": {json.dumps(more)}}}'
    )
    raw = chrome.read(str(path))
    assert check_raw(path, raw, 120) == 120


@pytest.mark.long
@pytest.mark.usefixtures("dense")
def test_mutated_traces(tmp_path: Path) -> None:
    texts = corpus()
    path = tmp_path / "t.json"
    checked = 0
    count = repeats(150, 6)
    for number in range(count):
        rng = random.Random(number)
        data = rng.choice(texts)
        for mutate in rng.choices(MUTATIONS, k=rng.choice([1, 2, 3])):
            data = mutate(rng, data) if len(data) > 1 else data
        path.write_bytes(data)
        try:
            raw = chrome.read(str(path))
        except TraceError:
            continue
        checked += check_raw(path, raw, 4)
    assert checked > 4 * count


@pytest.mark.long
def test_only_a_few_megabytes_are_decoded(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    one = json.dumps(make.op("aten::mm", 5, 6, **{"Input Dims": [[1024, 1024]] * 20}))
    count = (40 << 20) // len(one)
    path.write_bytes(gzip.compress(f"[{','.join([one] * count)}]".encode(), 1))
    raw = chrome.read(str(path))
    assert 8 <= len(raw.checkpoints) <= 12
    before = resource.getrusage(resource.RUSAGE_SELF)
    assert read_event(str(path), raw.checkpoints, count - 1)["name"] == "aten::mm"
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert (after.ru_maxrss - before.ru_maxrss) << 10 < 20 << 20
    assert after.ru_utime - before.ru_utime < 1
