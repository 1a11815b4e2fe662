"""Ranges told as a begin and an end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tb_privateuse1.readers import chrome
from tb_privateuse1.readers.raw import Raw
from tests.support import make


def begin(name: str, ts: float, thread: int = 1, **args: Any) -> make.Event:
    return {"ph": "B", "cat": "cpu_op", "name": name, "pid": 1, "tid": thread, "ts": ts,
            "args": args}  # fmt: skip


def end(ts: float, thread: int = 1) -> make.Event:
    return {"ph": "E", "pid": 1, "tid": thread, "ts": ts}


def read(folder: Path, *events: make.Event) -> Raw:
    path = folder / "t.json"
    path.write_text(json.dumps(make.document(*events)))
    return chrome.read(str(path))


def ranges(raw: Raw) -> set[tuple[str, int, int]]:
    group = raw.groups["cpu_op"]
    names = [raw.strings[n] for n in group.name]
    return set(zip(names, group.start_ns.tolist(), group.end_ns.tolist(), strict=True))


def test_they_close_as_brackets_on_each_thread(tmp_path: Path) -> None:
    raw = read(
        tmp_path,
        begin("a", 1, **{"External id": 4}), begin("other", 2, thread=2), begin("b", 2), end(3),
        end(5), end(9, thread=2),
    )  # fmt: skip
    assert ranges(raw) == {("a", 1000, 5000), ("b", 2000, 3000), ("other", 2000, 9000)}
    assert sorted(raw.groups["cpu_op"].ids["external_id"].tolist()) == [-1, -1, 4]
    assert not raw.findings


def test_beside_complete_events_and_in_any_order_of_the_file(tmp_path: Path) -> None:
    raw = read(tmp_path, end(5), make.op("whole", 0, 9, id=3), begin("a", 1))
    assert ranges(raw) == {("a", 1000, 5000), ("whole", 0, 9000)}
    assert not raw.findings


def test_what_is_not_closed_ends_with_the_trace(tmp_path: Path) -> None:
    raw = read(tmp_path, begin("a", 1), begin("b", 2), end(4), end(5), end(6), begin("c", 7),
               make.op("last", 8, 11))  # fmt: skip
    assert ranges(raw) == {("a", 1000, 5000), ("b", 2000, 4000), ("c", 7000, 11000),
                           ("last", 8000, 11000)}  # fmt: skip
    assert {f.code: f.count for f in raw.findings} == {"unclosed_ranges": 1, "unopened_ends": 1}


def test_ends_alone(tmp_path: Path) -> None:
    raw = read(tmp_path, end(5))
    assert not raw.groups
    assert [f.code for f in raw.findings] == ["unopened_ends"]
