"""Counters of a trace: each argument is a series of numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers.chrome import counter_columns
from tb_privateuse1.trace.model import Trace
from tests.support import make


def counter(ts: float, name: str = "Power", pid: Any = 7, **args: Any) -> make.Event:
    return {"ph": "C", "name": name, "pid": pid, "tid": 3, "ts": ts, "args": args}


def read(folder: Path, *events: make.Event) -> Trace:
    path = folder / "w.1.pt.trace.json"
    own = [make.op("a", 10, 100, id=1), make.launch(20, 22, 1), make.kernel("k", 30, 40, 1)]
    path.write_text(json.dumps(make.document(*own, *events)))
    return inference.build_trace(chrome.read(str(path)), None)


def series(trace: Trace) -> dict[tuple[str, str, str], list[tuple[int, float]]]:
    """Return times and values by process, name and key."""
    columns, samples = trace.counter_series, trace.counter_samples
    found: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for row in range(len(columns)):
        key = (
            trace.text(columns.process[row]),
            trace.text(columns.name[row]),
            trace.text(columns.key[row]),
        )
        own = samples.take(samples.series == row)
        found[key] = list(zip(own.ts_ns.tolist(), own.value.tolist(), strict=True))
    return found


def test_each_argument_of_each_name_and_process_is_a_series(tmp_path: Path) -> None:
    label = {"ph": "M", "name": "process_name", "pid": 7, "ts": 0, "args": {"name": "Device 0"}}
    trace = read(
        tmp_path,
        counter(20, W=100.5, MHz=900),
        counter(10, W=80),
        counter(30, pid=8, W=1),
        counter(30, "Clock", MHz=2),
        counter(40, "Clock", MHz=3) | {"id": 1},
        label,
    )
    assert series(trace) == {
        ("Device 0", "Power", "W"): [(0, 80.0), (10_000, 100.5)],
        ("Device 0", "Power", "MHz"): [(10_000, 900.0)],
        ("8", "Power", "W"): [(20_000, 1.0)],
        ("Device 0", "Clock", "MHz"): [(20_000, 2.0)],
        ("Device 0", "Clock 1", "MHz"): [(30_000, 3.0)],
    }
    assert trace.meta.events["counter"] == 6
    # A counter is on no thread.
    assert "3" not in {trace.text(tid) for tid in trace.threads.tid.tolist()}
    assert not trace.meta.findings


@pytest.mark.parametrize("value", [None, True, [1], {"a": 1}, "a", "nan", "Infinity", 10**400])
def test_what_is_no_finite_number_is_left_out(tmp_path: Path, value: object) -> None:
    trace = read(tmp_path, counter(20, W=value), counter(30, W="7.5"))
    assert list(series(trace).values()) == [[(20_000, 7.5)]]
    assert {f.code: f.count for f in trace.meta.findings} == {"counters_no_number": 1}


@pytest.mark.parametrize("args", [None, [], 3, "x"])
def test_arguments_that_are_no_object_cost_their_event_alone(tmp_path: Path, args: object) -> None:
    trace = read(tmp_path, counter(20) | {"args": args}, counter(30, W=1))
    assert list(series(trace).values()) == [[(20_000, 1.0)]]
    assert len(trace.ops) == 1


def test_the_last_of_several_values_at_one_time_holds(tmp_path: Path) -> None:
    trace = read(tmp_path, counter(20, W=1), counter(20, W=3), counter(20, W=2))
    assert list(series(trace).values()) == [[(10_000, 2.0)]]


def test_a_million_names_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counter_columns, "_MOST_SERIES", 3)
    trace = read(tmp_path, *(counter(20 + i, f"c{i}", W=i) for i in range(10)))
    assert len(trace.counter_series) == 3
    assert {f.code: f.count for f in trace.meta.findings} == {"counters_dropped": 7}


def test_counters_of_a_repaired_file_keep_their_places(tmp_path: Path) -> None:
    path = tmp_path / "w.1.pt.trace.json"
    text = json.dumps(
        make.document(make.op("a", 10, 100, id=1), counter(20, W=5), counter(30, W=6))
    )
    path.write_text(text.replace('"W": 5', '"W": NaN'))
    trace = inference.build_trace(chrome.read(str(path)), None)
    assert list(series(trace).values()) == [[(20_000, 6.0)]]
    assert trace.counter_samples.event.tolist() == [2]


def test_a_damaged_argument_costs_no_other_counter(tmp_path: Path) -> None:
    """Events are read without the arguments of counters, which are decoded on their own."""
    path = tmp_path / "w.1.pt.trace.json"
    whole = json.dumps(make.document(make.op("a", 0, 9), counter(1, W=1), counter(2, W=5)))
    path.write_bytes(whole.encode().replace(b'"W": 5', b'"W\xd7": 5'))
    trace = inference.build_trace(chrome.read(str(path)), None)
    assert "invalid_strings" in {finding.code for finding in trace.meta.findings}
    assert trace.counter_samples.value.tolist() == [1.0, 5.0]


def test_processes_of_one_name_are_told_apart_by_their_numbers(tmp_path: Path) -> None:
    """Kineto calls the process of each device as the program, ``python``."""
    labels = [
        {"ph": "M", "name": "process_name", "pid": pid, "ts": 0, "args": {"name": name}}
        for pid, name in ((0, "python"), (1, "python"), (7, "Board"))
    ]
    counters = [counter(20, pid=pid, W=pid) for pid in (0, 1, 7)]
    trace = read(tmp_path, *counters, *labels)
    assert {process for process, *_ in series(trace)} == {"python 0", "python 1", "Board"}


def test_a_plugin_of_kineto_is_measured(tmp_path: Path) -> None:
    """As ``KINETO_PLUGIN_LIB_DIR_PATH`` writes it: kernels without an operator, typed counters."""
    path = tmp_path / "w.1.pt.trace.json"
    kernel = make.kernel("plugin_kernel", 30, 45, 7)
    kernel["args"] = {"correlation": 7, "stream": 2, "device": 0}
    events = [
        make.op("aten::mm", 10, 100, id=1),
        {"ph": "X", "cat": "privateuse1_runtime", "name": "acmeLaunch", "pid": 1, "tid": 1}
        | {"ts": 20, "dur": 2, "args": {"correlation": 7}},
        kernel,
        counter(30, "sm_active", pid=0, value=0.5) | {"cat": "gpu_pm_counter"},
        counter(45, "sm_active", pid=0, value=0) | {"cat": "gpu_pm_counter"},
    ]
    path.write_text(json.dumps(make.document(*events)))
    trace = inference.build_trace(chrome.read(str(path)), None)
    (name,) = trace.kernels.name.tolist()
    assert trace.text(name) == "plugin_kernel"
    assert trace.kernels.end_ns[0] - trace.kernels.start_ns[0] == 15_000
    assert trace.meta.timeline == "measured"
    assert series(trace) == {("0", "sm_active", "value"): [(20_000, 0.5), (35_000, 0.0)]}
