"""Recognizing a trace by the beginning of a JSON text, at the cost of reading the text once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.discovery import compressed_files, trace_head
from tb_privateuse1.discovery.file import file_at
from tb_privateuse1.discovery.formats import DistributedInfo
from tb_privateuse1.discovery.trace_head import Heads
from tb_privateuse1.readers import READERS
from tb_privateuse1.readers.chrome import sniff
from tests.support.listing import layout
from tests.support.trace_files import events, write

EVENT = {"ph": "X", "name": "aten::mm", "ts": 1, "dur": 2}

NO_TRACE = {
    "a list of traces": {"runs": [{"path": "a.pt.trace.json.gz", "traceEvents": 1348}]},
    "a count": {"traceEvents": 1348, "note": "in all"},
    "a schema": {"properties": {"traceEvents": {"type": "array", "items": []}}},
    "a trace in a key": {"before": {"traceEvents": [EVENT]}, "after": {"traceEvents": [EVENT]}},
    "a list of words": {"traceEvents": ["cpu", "cuda"]},
    "a key in a list": [{"traceEvents": [EVENT], "ph": 7}],
    "measured acidity": [{"ph": 7.1, "temperature": 20}],
    "events in objects": [{"event": EVENT}],
    "a later event": [{"name": "x"}, EVENT],
    "a list of lists": [[EVENT]],
    "a manifest": {"schemaVersion": 2, "layers": []},
    "nothing": {},
    "no item": [],
    "text": "traceEvents",
}

TRACES = {
    "an object": {"traceEvents": [EVENT]},
    "no event yet": {"schemaVersion": 1, "traceEvents": []},
    "other keys": {"a": {"b": '}"{'}, "traceEvents": [EVENT]},
    "a bare list": [EVENT],
    "metadata first": [{"name": "process_name", "ph": "M", "args": {"name": "python"}}],
    "nested arguments": [{"args": {"a": [[1]], "ph": 5}, "ph": "X"}],
}


@pytest.mark.parametrize("content", NO_TRACE.values(), ids=NO_TRACE)
@pytest.mark.parametrize("indent", [None, 2])
def test_other_json_is_no_run(tmp_path: Path, content: object, indent: int | None) -> None:
    (tmp_path / "index.json").write_text(json.dumps(content, indent=indent))
    assert layout(tmp_path) == {}


@pytest.mark.parametrize("content", TRACES.values(), ids=TRACES)
@pytest.mark.parametrize("before", [b"", b" \n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_trace_of_any_name_is_a_run(
    tmp_path: Path, content: object, before: bytes, indent: int | None
) -> None:
    (tmp_path / "index.json").write_bytes(before + json.dumps(content, indent=indent).encode())
    assert layout(tmp_path) == {tmp_path.name: {0: ["default"]}}


def test_a_file_that_the_profiler_named_is_a_run_whatever_it_holds(tmp_path: Path) -> None:
    for rank, text in enumerate((b"", b"{", b"[", b"null", b'{"a": 1}', b"\x1f\x8b broken")):
        (tmp_path / f"rank{rank}.1.pt.trace.json").write_bytes(text)
    (tmp_path / "libkineto_activities_1234.json").write_bytes(b'{"schema')
    assert list(layout(tmp_path)[tmp_path.name]) == [0, 1, 2, 3, 4, 5, 6]


def test_a_trace_cut_off_before_its_events_is_a_run(tmp_path: Path) -> None:
    """Kineto writes ``schemaVersion`` first; a whole object without events is other JSON."""
    document = {"schemaVersion": 1, "deviceProperties": [], "distributedInfo": {"rank": 3}}
    text = json.dumps(document)
    (tmp_path / "index.json").write_text(text)
    assert layout(tmp_path) == {}
    (tmp_path / "index.json").write_text(text[:-1])
    assert list(layout(tmp_path)[tmp_path.name]) == [3]


def test_every_beginning_of_a_trace_is_decided_without_an_error() -> None:
    text = json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 3}, "traceEvents": [EVENT]})
    for stop in range(len(text)):
        signs = sniff.sniff(text[:stop].encode())
        assert signs.is_trace == (stop >= text.index(": 1") + 1)
        assert signs.sure == (stop >= text.index("[") + 1)


@pytest.mark.long
def test_keys_behind_megabytes_of_metadata(tmp_path: Path) -> None:
    groups = [{"pg_name": str(n), "ranks": list(range(8))} for n in range(30_000)]
    path = tmp_path / "x.json.gz"
    write(path, {"distributedInfo": {"pg_config": groups, "rank": 9}, "traceEvents": events()})
    assert Heads(READERS).trace(file_at(str(path))) == trace_head.Head(True, 9)


class Counting:
    """A pattern that counts its matches and the bytes that it searches."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._pattern = pattern
        self.tokens = 0
        self.bytes = 0

    def finditer(self, text: bytes, start: int) -> Iterator[re.Match[bytes]]:
        self.bytes += len(text) - start
        for token in self._pattern.finditer(text, start):
            self.tokens += 1
            yield token


HOSTILE = {
    "broken metadata": b"{" + b'"distributedInfo":{x,' * 180_000 + b'"traceEvents":[]}',
    "whole metadata": b"{" + b'"distributedInfo":{},' * 180_000 + b'"traceEvents":[]}',
    "lists that are none": b"{" + b'"traceEvents":1,' * 240_000 + b"}",
    "brackets": b"[" * (4 << 20),
    "escapes": b'{"' + b'\\"' * (2 << 20),
    "quotes": b'{"a":' + b'"' * (4 << 20),
    "an open string": b'{"a": "' + b"x" * (4 << 20),
}


@pytest.mark.long
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_head_costs_a_bounded_effort(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    counting = Counting(sniff._TOKEN)
    decoded: list[int] = []
    decode_info = sniff._decode_info

    def counted(text: bytes, at: int) -> DistributedInfo:
        decoded.append(len(text) - at)
        return decode_info(text, at)

    monkeypatch.setattr(sniff, "_TOKEN", counting)
    monkeypatch.setattr(sniff, "_decode_info", counted)
    path = tmp_path / "rank0.1.pt.trace.json"
    path.write_bytes(text)
    heads = Heads(READERS)
    for _ in range(2):  # the second time it is known
        assert heads.trace(file_at(str(path))).rank is None
    assert counting.bytes < 2 * trace_head._MOST
    assert counting.tokens <= 2 * sniff._MOST_TOKENS
    assert sum(decoded) < 2 * trace_head._MOST


def test_no_byte_is_searched_twice_for_a_string_without_an_end() -> None:
    for text in (b'{"' + b'\\"' * 1000, b'"' + b"x" * 1000, b'"\\'):
        tokens = [token[0] for token in sniff._TOKEN.finditer(text)]
        assert b"".join(tokens) == text


def test_a_packed_file_that_unpacks_to_nothing_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = bytes.fromhex("1f8b08000000000000ff03000000000000000000")
    path = tmp_path / "rank0.1.pt.trace.json.gz"
    path.write_bytes(empty * 400_000)
    assert path.stat().st_size > 1.5 * trace_head._MOST
    read = 0
    original = trace_head.open_file

    def opened(*arguments: Any) -> Any:
        file = original(*arguments)

        class Counted:
            def __enter__(self) -> Counted:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def read(self, size: int) -> bytes:
                nonlocal read
                block = file.read(size)
                read += len(block)
                return block

            def seek(self, *place: int) -> int:
                return file.seek(*place)

        return Counted()

    monkeypatch.setattr(trace_head, "open_file", opened)
    assert Heads(READERS).trace(file_at(str(path))) == trace_head.Head(False, None)
    assert read <= trace_head._MOST + compressed_files.HEAD_BYTES
