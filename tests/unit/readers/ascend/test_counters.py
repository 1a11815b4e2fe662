"""Counters of Ascend's database: what is sampled, in which unit, and what is left out."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tb_privateuse1 import readers
from tb_privateuse1.readers.ascend import counters
from tb_privateuse1.trace.model import Trace
from tests.support.ascend import Program, edited
from tests.support.read_traces import trace_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Program().database(tmp_path / "a.db")


def names(trace: Trace) -> list[tuple[str, str, str]]:
    series = trace.counter_series
    return [
        (trace.text(series.name[i]), trace.text(series.key[i]), trace.text(series.process[i]))
        for i in range(len(series))
    ]


def values(trace: Trace, name: str, key: str) -> list[float]:
    row = next(i for i, one in enumerate(names(trace)) if one[:2] == (name, key))
    found: list[float] = trace.counter_samples.value[trace.counter_samples.series == row].tolist()
    return found


def test_each_value_and_part_is_a_counter(path: Path) -> None:
    trace = trace_of(path)
    assert names(trace) == [
        ("AI Core frequency", "MHz", "NPU 5"),
        ("HBM 0 read", "bandwidth, bytes/s", "NPU 5"),
        ("HBM 0 write", "bandwidth, bytes/s", "NPU 5"),
        ("LLC 0 read", "hit rate", "NPU 5"),
        ("LLC 0 read", "bandwidth, bytes/s", "NPU 5"),
        ("Memory APP", "DDR, bytes", "NPU 5"),
        ("Memory APP", "HBM, bytes", "NPU 5"),
    ]
    with edited(path) as connection:
        clock = connection.execute("SELECT freq FROM AICORE_FREQ ORDER BY timestampNs").fetchall()
        ((rate,),) = connection.execute("SELECT sum(hitRate) FROM LLC").fetchall()
    assert values(trace, "AI Core frequency", "MHz") == [float(value) for (value,) in clock]
    assert math.isclose(math.fsum(values(trace, "LLC 0 read", "hit rate")), rate)


def test_a_sample_has_its_record(path: Path) -> None:
    raw = readers.read(str(path))
    event = int(raw.counters.samples.event[0])
    record = readers.reader_named("ascend").record(str(path), raw.checkpoints, event)
    assert record["table"] == "AICORE_FREQ"
    assert record["freq"] == raw.counters.samples.value[0]


def test_what_is_no_number_and_too_many_are_left_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with edited(path) as connection:
        for value in ("'x'", "NULL", "9e999"):
            connection.execute(f"INSERT INTO AICORE_FREQ VALUES (5, {2**60}, {value})")
    before = values(trace_of(path), "AI Core frequency", "MHz")
    assert all(map(math.isfinite, before))
    monkeypatch.setattr(counters, "MOST_SERIES", 2)
    trace = trace_of(path)
    assert len(names(trace)) == 2
    assert "counters_dropped" in {finding.code for finding in trace.meta.findings}


def test_a_database_without_samples_has_no_counters(path: Path) -> None:
    with edited(path) as connection:
        for table in counters.TABLES:
            connection.execute(f"DROP TABLE IF EXISTS {table}")
    assert not len(trace_of(path).counter_series)
