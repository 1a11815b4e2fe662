"""Logs of compilation beside a trace: which are joined, and what they add."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random
from typing import Any

import pytest

import tb_privateuse1 as tbp
from tb_privateuse1 import readers
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers.compile_log import lines, tables
from tb_privateuse1.readers.sqlite.columns import Strings
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.recorded_metadata import GRAPH_BREAK, RECOMPILATION
from tb_privateuse1.views.lookups.kernel_source import kernel_source
from tests.support import make
from tests.support.compile_logs import (
    BASE_NS,
    BREAK,
    artifact,
    beside,
    codes,
    frame,
    metrics,
    record,
    region,
)
from tests.support.repeats import repeats

GOLDEN = Path(__file__).parents[3] / "traces" / "without_device" / "compiled"

STACK = [{"line": 40, "name": "<module>", "filename": 0}, {"line": 12, "name": "f", "filename": 0}]
START = record({"str": ["/app/train.py", 0]}) + record(
    {"dynamo_start": {"stack": STACK}}, **frame()
)


def ids(trace: Trace) -> list[str]:
    return [trace.text(name) for name in trace.compilations.compile_id.tolist()]


def test_a_log_of_the_process_is_joined(tmp_path: Path) -> None:
    log = START + artifact("dynamo_graph_break_reason", BREAK) + metrics(
        entire_frame_compile_time_s=2.0, backend_compile_time_s=1.5, guard_count=7,
    )  # fmt: skip
    trace = beside(tmp_path, log)
    found, notes = trace.compilations, trace.compile_notes
    assert codes(trace) == []
    assert ids(trace) == ["0/0"]
    assert trace.text(found.function[0]) == "f"
    assert (trace.text(found.file[0]), found.line[0]) == ("/app/train.py", 12)
    assert (found.total_ns[0], found.backend_ns[0]) == (2_000_000_000, 1_500_000_000)
    assert found.inductor_ns[0] == MISSING
    assert (found.start_ns[0], found.guards[0], found.operators[0]) == (0, 7, -1)
    assert notes.kind.tolist() == [GRAPH_BREAK]
    assert (trace.text(notes.file[0]), notes.line[0]) == ("/app/train.py", 14)


def test_a_failed_compilation_is_of_the_function_of_its_code(tmp_path: Path) -> None:
    log = (
        START
        + metrics(entire_frame_compile_time_s=1.0)
        + artifact("recompile_reasons", "0/0: n == 1", "0/1")
        + metrics("0/1", fail_type="Unsupported", fail_reason="Limit exceeded\n  Hint: x")
    )
    trace = beside(tmp_path, log)
    assert ids(trace) == ["0/0", "0/1"]
    assert [trace.text(name) for name in trace.compilations.function.tolist()] == ["f", "f"]
    assert trace.text(trace.compilations.failure[1]) == "Limit exceeded"
    assert trace.compile_notes.kind.tolist() == [RECOMPILATION]


def test_both_passes_of_a_region(tmp_path: Path) -> None:
    log = metrics(co_name="f") + metrics(key="bwd_compilation_metrics", duration_us=3_000_000)
    trace = beside(tmp_path, log)
    assert trace.compilations.backward.tolist() == [False, True]
    assert trace.compilations.total_ns.tolist() == [MISSING, 3_000_000_000]
    assert [trace.text(name) for name in trace.compilations.function.tolist()] == ["f", "f"]


def test_generated_kernels_have_their_source(tmp_path: Path) -> None:
    code = "triton_a = async_compile.triton('triton_a', '''\ndef triton_a(): pass\n''')"
    log = record({"inductor_output_code": {"filename": "/cache/ab/cab.py"}}, code, **frame())
    events = (region("0/0", 0, 10), make.launch(2, 3, 1), make.kernel("triton_a", 5, 9, 1))
    trace = beside(tmp_path, log + metrics(), events=events)
    (source,) = kernel_source(trace, index=0).sources
    assert source.file == "cab.py"
    assert "def triton_a(): pass" in source.text


@pytest.mark.parametrize(
    ("log", "document"),
    [
        (metrics(pid=2), {}),
        (record({"compilation_metrics": {}}, rank=3, **frame()), {"distributedInfo": {"rank": 0}}),
        (metrics(start_time=(BASE_NS + 10**12) / 1e9), {}),
        (metrics("7/0"), {}),
    ],
    ids=["process", "rank", "later", "regions"],
)
def test_another_process_adds_nothing(tmp_path: Path, log: str, document: dict[str, Any]) -> None:
    trace = beside(tmp_path, log, **document)
    assert codes(trace) == ["compile_log_other"]
    assert len(trace.compilations) == len(trace.compile_notes) == len(trace.kernel_sources) == 0


def test_of_two_logs_of_one_process_none_is_believed(tmp_path: Path) -> None:
    trace = beside(tmp_path, metrics(), metrics(guard_count=3))
    assert codes(trace) == ["compile_log_other"]
    assert len(trace.compilations) == 0


def test_times_of_a_clock_that_is_no_unix_time_are_unknown(tmp_path: Path) -> None:
    trace = beside(tmp_path, metrics(entire_frame_compile_time_s=1.0), baseTimeNanoseconds=0)
    assert trace.compilations.start_ns.tolist() == [MISSING]
    assert trace.compilations.total_ns.tolist() == [1_000_000_000]


@pytest.mark.parametrize("cut", range(0, len(START + metrics()), 7))
def test_a_cut_log_keeps_what_is_whole(tmp_path: Path, cut: int) -> None:
    trace = beside(tmp_path, metrics("0/0") + (START + metrics("0/0", guard_count=9))[:cut])
    assert ids(trace) == ["0/0"]
    assert set(codes(trace)) <= {"compile_log_cut", "part_unreadable"}


@pytest.mark.parametrize(
    "damage",
    [
        record({"compilation_metrics": {"compile_id": 5, "start_time": "now"}}),
        record({"compilation_metrics": []}), record({"dynamo_start": {"stack": 7}}, **frame()),
        record({"artifact": {"name": ["x"]}}, "x", **frame()),
        "V1129 19:40:33.004000 1 torch/x.py:3] {\"artifact\": {\n",
        "no line of glog\n", "\0\xff\n",
    ],
)  # fmt: skip
def test_damaged_records_are_counted(tmp_path: Path, damage: str) -> None:
    trace = beside(tmp_path, metrics() + damage + metrics("0/1"))
    assert ids(trace) == ["0/0", "0/1"]
    assert codes(trace) == ["part_unreadable"]


@pytest.mark.parametrize("value", [-1.0, 1e30, 1e308])
def test_absurd_numbers_are_missing(tmp_path: Path, value: float) -> None:
    text = metrics(entire_frame_compile_time_s=value, guard_count=2**40, co_firstlineno=-5)
    trace = beside(tmp_path, text)
    assert trace.compilations.total_ns.tolist() == [MISSING]
    assert (trace.compilations.guards[0], trace.compilations.line[0]) == (-1, -1)


def test_lines_and_payloads_without_end_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_LONGEST", 2000)
    monkeypatch.setattr(lines, "_MOST_PAYLOAD", 100)
    long = record({"artifact": {"name": "x" * 5_000_000}}, **frame())
    trace = beside(tmp_path, metrics() + long + artifact("recompile_reasons", "y\n" * 10**6))
    assert ids(trace) == ["0/0"]
    assert codes(trace) == ["part_unreadable"]
    assert trace.text(trace.compile_notes.reason[0]) == "y"


def test_a_log_is_no_recording_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    beside(folder, metrics(pid=1))
    opened = tbp.open(tmp_path)
    assert ids(opened.trace()) == ["0/0"]
    (folder / "w.1.pt.trace.json").unlink()
    found = catalog.scan(str(tmp_path), readers.READERS).runs
    assert found.runs == ()
    assert [one.code for one in found.warnings] == ["other_files"]
    assert "log of compilation" in found.warnings[0].message


def test_the_letters_that_torch_chooses_are_no_rank(tmp_path: Path) -> None:
    """``tempfile`` chooses the last 8: ``…_torch_trace_3abcdefg.log`` is not of rank 3."""
    beside(tmp_path, *[metrics("9/9")] * 3, metrics(), distributedInfo={"rank": 0})
    for number in range(3):
        (tmp_path / f"dedicated_log_torch_trace_{number}abcdefg.log").unlink()
    assert ids(tbp.open(tmp_path).trace()) == ["0/0"]
    (tmp_path / "dedicated_log_torch_trace_3abcdefg.log").rename(
        tmp_path / "dedicated_log_torch_trace_rank_3_abcdefgh.log"
    )
    assert ids(tbp.open(tmp_path).trace()) == []


def test_a_duration_that_no_float_holds_is_missing(tmp_path: Path) -> None:
    trace = beside(tmp_path, START + metrics(duration_us=10**400) + metrics("1/0", duration_us=7))
    assert codes(trace) == []
    assert ids(trace) == ["0/0", "1/0"]
    assert trace.compilations.total_ns.tolist() == [MISSING, 7000]


def test_no_damage_of_a_log_stops_the_reading(tmp_path: Path) -> None:
    (packed,) = GOLDEN.glob("*.log.gz")
    text = bytearray(gzip.decompress(packed.read_bytes()))
    random = Random(7)
    path = tmp_path / "a.log"
    for _ in range(repeats(80)):
        damaged = text.copy()
        for _ in range(random.randrange(1, 40)):
            at = random.randrange(len(damaged))
            damaged[at : at + random.choice((0, 1, 1, 200))] = random.randbytes(
                random.choice((0, 1, 3))
            )
        path.write_bytes(damaged[: random.randrange(len(damaged))])
        found = tables.contents(str(path))
        strings = Strings()
        tables.compilations(found, strings)
        tables.notes(found, strings)
