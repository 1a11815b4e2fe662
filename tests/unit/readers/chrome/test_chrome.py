"""Chrome JSON in the spellings that exporters and people give it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.readers import chrome
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import MISSING
from tests.support import make


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


def test_absurd_lengths_with_fractions_are_exact(tmp_path: Path) -> None:
    text = b'[{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1663123456789012.123}]'
    assert read(tmp_path, text).groups["cpu_op"].end_ns.tolist() == [1663123456789013123]


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


def test_strides_and_values_of_the_inputs_are_read(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "Input Dims": [[2, 3], []],
        "Input Strides": [[3, 1], []],
        "Concrete Inputs": ["", "[2, 2]"],
    }
    raw = read(tmp_path, make.document(make.op("aten::mean", 0, 1, **values), make.op("a", 2, 3)))
    texts = raw.groups["cpu_op"].texts
    assert [raw.strings[texts[key][0]] for key in ("strides", "concrete")] == [
        "[[3,1],[]]",
        '["","[2, 2]"]',
    ]
    assert [texts[key][1] for key in ("strides", "concrete")] == [-1, -1]


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
        (b'{"a": {"traceEvents": [{"ph": "X"}]}}', "not_a_trace"),
        (b'{"a": 1, "traceEv', "not_json"),
        (b'"text"', "not_a_trace"),
        (b"5", "not_a_trace"),
        (b"[1, 2]", "not_a_trace"),
        (b'{"traceEvents": [}', "not_json"),
        (b'{"traceEvents": [{]}', "not_json"),
        (b"[" * 100_000, "not_json"),
        (b'{"a":' * 100_000, "not_json"),
        (json.dumps({"traceEvents": []}).encode("utf-16"), "not_json"),
        (b"\0" * 100, "not_json"),
    ],
    ids=lambda v: str(v)[:30],
)
def test_what_is_no_trace_says_so(tmp_path: Path, content: bytes, code: str) -> None:
    with pytest.raises(TraceError) as caught:
        read(tmp_path, content)
    assert caught.value.code == code
    assert len(str(caught.value)) < 500


def test_a_trace_may_be_empty(tmp_path: Path) -> None:
    for content in (b'{"traceEvents": []}', b"[]", b' {"traceEvents" : [ \n ] , "b": 2} \n'):
        raw = read(tmp_path, content)
        assert not raw.groups
        assert not raw.findings


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


def test_a_killed_jobs_trace_shows_what_was_written(tmp_path: Path) -> None:
    events = [make.op(f"op{i}", i, i + 0.5, id=i) for i in range(500)]
    text = json.dumps(make.document(*events, distributedInfo={"rank": 3})).encode()
    path = tmp_path / "t.json"
    path.write_bytes(text[:-2000])
    plain = chrome.read(str(path))
    assert 450 < len(plain.groups["cpu_op"]) < 500
    assert plain.metadata["distributedInfo"] == {"rank": 3}
    assert [f.code for f in plain.findings] == ["truncated"]
    path.write_bytes(gzip.compress(text)[:-40])
    packed = chrome.read(str(path))
    assert 100 < len(packed.groups["cpu_op"]) < 500
    assert [f.code for f in packed.findings] == ["truncated"]


@pytest.mark.long
def test_a_damaged_gzip_stream_is_told(tmp_path: Path) -> None:
    events = [make.op(f"op{i * 7919}", i, i + 0.5, id=i) for i in range(5000)]
    packed = bytearray(gzip.compress(json.dumps(make.document(*events)).encode()))
    packed[len(packed) // 2 : len(packed) // 2 + 50] = bytes(50)
    path = tmp_path / "t.json.gz"
    path.write_bytes(packed)
    raw = chrome.read(str(path))
    assert 2000 < len(raw.groups["cpu_op"]) < 5000
    assert "gzip_damaged" in {f.code for f in raw.findings}


def test_a_cut_gzip_stream_without_an_event_says_so(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(json.dumps(make.document(make.op("a", 0, 1))).encode())[:-20])
    with pytest.raises(TraceError) as caught:
        chrome.read(str(path))
    assert caught.value.code == "not_json"


@pytest.mark.parametrize("odd", ["NaN", "Infinity", "N/A"])
def test_what_json_does_not_have_counts_as_missing(tmp_path: Path, odd: str) -> None:
    text = json.dumps(make.document(make.op("a", 0, 1, id=5), make.op("b", 2, 3, id=6)))
    raw = read(tmp_path, text.replace("5", odd).encode())
    assert raw.groups["cpu_op"].ids["external_id"].tolist() == [-1, 6]
    assert [(f.code, f.count) for f in raw.findings] == [("invalid_numbers", 1)]


def test_names_that_are_no_json_strings_are_shown_all_the_same(tmp_path: Path) -> None:
    text = b"""[{"ph":"X","cat":"cpu_op","name":"C:\\Users\x01\xff","ts":0,"dur":1},
        {"ph":"X","cat":"cpu_op","name":"b","ts":2,"dur":1}]"""
    raw = read(tmp_path, text)
    names = [raw.strings[n] for n in raw.groups["cpu_op"].name]
    assert names == ["C:\\Users\x01\ufffd", "b"]
    assert [(f.code, f.count) for f in raw.findings] == [("invalid_strings", 1)]


@pytest.mark.parametrize("key", ["ts", "dur"])
@pytest.mark.parametrize("absurd", ["1e300", "-1e300", "9223372036854775807", "1e17", '"NaN"'])
def test_times_that_no_clock_gives_are_dropped(tmp_path: Path, key: str, absurd: str) -> None:
    text = json.dumps(make.document(make.op("a", 77, 78), make.op("b", 2, 3)))
    told = {"ts": '"ts": 77', "dur": '"dur": 1'}[key]
    raw = read(tmp_path, text.replace(told, f'"{key}": {absurd}', 1).encode())
    assert [raw.strings[n] for n in raw.groups["cpu_op"].name] == ["b"]
    assert [(f.code, f.count) for f in raw.findings] == [("impossible_times", 1)]


def test_a_length_below_0_counts_as_0(tmp_path: Path) -> None:
    raw = read(tmp_path, make.document(make.op("short", 9, 8)))
    group = raw.groups["cpu_op"]
    assert (group.start_ns.tolist(), group.end_ns.tolist()) == ([9000], [9000])
    assert [(f.code, f.count) for f in raw.findings] == [("negative_durations", 1)]


def test_what_was_before_the_clocks_0_is_shown(tmp_path: Path) -> None:
    # Where times count from the recording's start, what had begun before is negative.
    text = b"""[{"ph": "X", "cat": "cpu_op", "name": "far", "ts": -1663123456789012.001, "dur": 1},
        {"ph": "X", "cat": "cpu_op", "name": "before", "ts": -5.0005, "dur": 7.25},
        {"ph": "X", "cat": "cpu_op", "name": "b", "ts": 1, "dur": 1},
        {"ph": "X", "cat": "cpu_op", "name": "absurd", "ts": -3e15, "dur": 1}]"""
    raw = read(tmp_path, text)
    group = raw.groups["cpu_op"]
    assert group.start_ns.tolist() == [-1663123456789012001, -5000, 1000]
    assert group.end_ns.tolist() == [-1663123456789011001, 2250, 2000]
    assert [(f.code, f.count) for f in raw.findings] == [("impossible_times", 1)]


def test_a_trace_that_starts_before_its_clock_starts_at_0(tmp_path: Path) -> None:
    trace = make.trace(make.op("outer", -5, 10), make.op("inner", 1, 2), baseTimeNanoseconds=10**18)
    assert trace.ops.start_ns.tolist() == [0, 6000]
    assert trace.ops.parent.tolist() == [-1, 0]
    assert (trace.start_ns, trace.base_ns) == (-5000, 10**18 - 5000)


def test_ids_beyond_63_bits_stay_distinct(tmp_path: Path) -> None:
    ids = [2**63 + 5, 2**64 - 7, 2**53 + 1]
    raw = read(tmp_path, make.document(*(make.op("a", i, i, id=n) for i, n in enumerate(ids))))
    column = raw.groups["cpu_op"].ids["external_id"]
    assert [int(n) % 2**64 for n in column] == ids


def test_a_column_that_only_later_windows_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tb_privateuse1.readers.chrome.windows.WINDOW", 200)
    kernels = [make.kernel("k", i, i + 1, correlation=i) for i in range(20)]
    raw = read(tmp_path, make.document(*kernels, make.kernel("k", 50, 51, bytes=7)))
    column = raw.groups["kernel"].ids["bytes"]
    assert column.tolist() == [MISSING] * 20 + [7]


def test_a_million_names_and_markup_are_names(tmp_path: Path) -> None:
    events = [make.op(f"<script>{i}</script>", i, i + 1) for i in range(20_000)]
    raw = read(tmp_path, make.document(*events))
    assert len(set(raw.groups["cpu_op"].name.tolist())) == 20_000


def test_inductors_count_of_a_kernel_is_read(tmp_path: Path) -> None:
    count: dict[str, Any] = {"kernel_flop": 1024, "kernel_num_gb": 0.25}
    events = make.op("triton_poi_0", 0, 1, **count), make.op("a", 2, 3)
    raw = read(tmp_path, make.document(*events))
    texts = raw.groups["cpu_op"].texts
    found = [raw.strings[texts[key][0]] for key in ("kernel_flop", "kernel_gb")]
    assert found == ["1024", "0.25"]
    assert [texts[key][1] for key in ("kernel_flop", "kernel_gb")] == [-1, -1]
