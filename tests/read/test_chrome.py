"""Chrome JSON in the spellings that exporters and people give it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.read import chrome
from tb_privateuse1.read.base import Raw
from tb_privateuse1.trace import MISSING, TraceError
from tests import make


def read(folder: Path, content: Any, name: str = "t.json") -> Raw:
    path = folder / name
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return chrome.read(str(path))


def test_plain_gzip_and_bare_list_give_the_same_columns(tmp_path: Path) -> None:
    events = [make.op("aten::mm", 1.5, 3.25, id=4)]
    raws = [
        read(tmp_path, make.document(*events)),
        read(tmp_path, make.document(*events), "t.json.gz"),
        read(tmp_path, events),
    ]
    for raw in raws:
        group = raw.groups["cpu_op"]
        assert [raw.strings[n] for n in group.name] == ["aten::mm"]
        assert (group.start_ns.tolist(), group.end_ns.tolist()) == ([1500], [3250])
        assert group.ids["external_id"].tolist() == [4]


def test_gzip_is_known_by_content_not_by_name(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(gzip.compress(json.dumps(make.document(make.op("a", 0, 1))).encode()))
    assert len(chrome.read(str(path)).groups["cpu_op"]) == 1


def test_numbers_as_strings(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "kernel", "name": "k", "pid": "0",
             "tid": "7", "ts": "1663123456789012.123", "dur": "1.500",
             "args": {"correlation": "12"}}  # fmt: skip
    raw = read(tmp_path, make.document(event))
    group = raw.groups["kernel"]
    assert group.start_ns.tolist() == [1663123456789012123]
    assert group.end_ns.tolist() == [1663123456789013623]
    assert group.ids["correlation"].tolist() == [12]


def test_absolute_times_with_fractions_are_exact(tmp_path: Path) -> None:
    text = b"""{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1,
        "ts": 1663123456789012.001, "dur": 0.999}]}"""
    group = read(tmp_path, text).groups["cpu_op"]
    assert group.start_ns.tolist() == [1663123456789012001]
    assert group.end_ns.tolist() == [1663123456789013000]


def test_one_odd_event_does_not_cost_the_trace(tmp_path: Path) -> None:
    odd = {"ph": "X", "cat": "cpu_op", "name": "b", "ts": [], "dur": 1, "args": 5}
    raw = read(tmp_path, make.document(make.op("aten::mm", 0, 1), odd))
    assert len(raw.groups["cpu_op"]) == 1
    assert [(f.code, f.count) for f in raw.findings] == [("malformed_events", 1)]


def test_events_without_a_time_are_counted(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1}
    raw = read(tmp_path, make.document(event, make.op("a", 0, 1)))
    assert len(raw.groups["cpu_op"]) == 1
    assert [(f.code, f.count) for f in raw.findings] == [("events_without_time", 1)]


def test_memory_instants_of_both_exporters(tmp_path: Path) -> None:
    instant = make.memory(5, 512, 1024)
    ranged = instant | {"ph": "X", "dur": 3}
    for event in (instant, ranged):
        raw = read(tmp_path, make.document(event))
        assert raw.memory.start_ns.tolist() == [5000]
        assert raw.memory.ids["memory_bytes"].tolist() == [512]
        assert raw.memory.ids["allocated_bytes"].tolist() == [1024]
        assert not raw.groups


def test_a_missing_memory_argument_stays_missing(tmp_path: Path) -> None:
    event = make.memory(5, 512, 1024)
    del event["args"]["Bytes"]
    raw = read(tmp_path, make.document(event, make.memory(6, 1, 2)))
    assert raw.memory.ids["memory_bytes"].tolist() == [MISSING, 1]


def test_equal_shapes_are_one_string_however_spaced(tmp_path: Path) -> None:
    text = b"""{"traceEvents": [
        {"ph":"X","cat":"cpu_op","name":"a","ts":0,"dur":1,"args":{"Input Dims":[[2,3],[]]}},
        {"ph":"X","cat":"cpu_op","name":"a","ts":2,"dur":1,"args":{"Input Dims":[[2, 3], []]}},
        {"ph":"X","cat":"cpu_op","name":"a","ts":4,"dur":1,"args":{}}]}"""
    raw = read(tmp_path, text)
    shapes = raw.groups["cpu_op"].texts["shapes"].tolist()
    assert shapes[0] == shapes[1]
    assert raw.strings[shapes[0]] == "[[2,3],[]]"
    assert shapes[2] == -1


def test_the_spelling_of_2021(tmp_path: Path) -> None:
    event = make.span("Operator", "aten::mm", 0, 1, **{"external id": 7, "Input dims": [[1]]})
    group = read(tmp_path, make.document(event)).groups["Operator"]
    assert group.ids["external_id"].tolist() == [7]
    assert "shapes" in group.texts


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "not_json"),
        (b"   ", "not_json"),
        (b"hello", "not_json"),
        (b'{"traceEvents": [{"ph": "X", ', "not_json"),
        (b'{"traceEvents": 5}', "not_a_trace"),
        (b'{"a": 1}', "not_a_trace"),
        (b'"text"', "not_a_trace"),
        (b"[1, 2]", None),
        (b'{"traceEvents": [}', "not_json"),
    ],
)
def test_what_is_no_trace_says_so(tmp_path: Path, content: bytes, code: str | None) -> None:
    if code is None:
        raw = read(tmp_path, content)
        assert not raw.groups
        assert raw.findings[0].code == "malformed_events"
        return
    with pytest.raises(TraceError) as caught:
        read(tmp_path, content)
    assert caught.value.code == code


def test_a_cut_gzip_stream_says_so(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(json.dumps(make.document(make.op("a", 0, 1))).encode())[:-12])
    with pytest.raises(TraceError) as caught:
        chrome.read(str(path))
    assert caught.value.code == "unreadable"


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        chrome.read(str(tmp_path / "none.json"))
    assert caught.value.code == "unreadable"


def test_progress_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(make.document(make.op("a", 0, 1))))
    told: list[tuple[str, int, int, int]] = []
    chrome.read(str(path), lambda *p: told.append(p))
    assert told[0][0] == "reading"
    assert told[0][1:3] == (path.stat().st_size, path.stat().st_size)
    assert told[-1][3] == 1


def test_a_thread_written_as_number_and_as_text_is_the_same_thread(tmp_path: Path) -> None:
    events = [make.op("a", 1, 9), {**make.op("b", 2, 3), "tid": "1"}, {**make.memory(4, 8, 8)}]
    raw = read(tmp_path, make.document(*events))
    assert len(raw.threads) == 1
