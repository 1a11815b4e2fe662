"""Files of one event per line: the same rows as of a list, in any spacing and any blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.discovery.catalog import scan
from tb_privateuse1.readers import READERS, chrome
from tb_privateuse1.readers.chrome.event_lines import begins_with_event, lines_as_list
from tb_privateuse1.readers.chrome.single_event import read_event

BREAKS = ("\n", "\r\n", " \n", "\n\n", " \r\n \n  ", ",\n")


def event(number: int) -> dict[str, Any]:
    name = f"aten::op{number} }}\n{{ "
    return {"ph": "X", "cat": "cpu_op", "name": name, "ts": 10 * number, "dur": 7, "tid": 1}


EVENTS = [event(number) for number in range(200)]


def written(path: Path, separator: str, end: str = "\n") -> str:
    path.write_bytes((separator.join(map(json.dumps, EVENTS)) + end).encode())
    return str(path)


@pytest.mark.parametrize("separator", BREAKS)
@pytest.mark.parametrize("end", ["", "\n", "\r\n\n"])
def test_the_rows_are_those_of_a_list(tmp_path: Path, separator: str, end: str) -> None:
    bare = tmp_path / "list.json"
    bare.write_text(json.dumps(EVENTS))
    expected = chrome.CHROME.read(str(bare), None)
    path = written(tmp_path / "lines.json", separator, end)
    raw = chrome.CHROME.read(path, None)
    assert raw.groups["cpu_op"].start_ns.tolist() == expected.groups["cpu_op"].start_ns.tolist()
    assert raw.strings == expected.strings
    assert raw.findings == ()
    for number in (0, 100, 199):
        assert read_event(path, raw.checkpoints, number)["name"] == EVENTS[number]["name"]


@pytest.mark.long
def test_a_later_event_is_read_from_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "lines.json"
    long = [{**event(number), "args": {"pad": "x" * 2000}} for number in range(6000)]
    path.write_text("\n".join(map(json.dumps, long)) + "\n")
    raw = chrome.CHROME.read(str(path), None)
    assert len(raw.checkpoints) > 1
    assert read_event(str(path), raw.checkpoints, 5999)["name"] == long[5999]["name"]


def test_a_cut_file_has_its_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "lines.json"
    text = "\n".join(map(json.dumps, EVENTS))
    path.write_text(text[:-20])
    raw = chrome.CHROME.read(str(path), None)
    assert len(raw.groups["cpu_op"].name) == 199
    assert [finding.code for finding in raw.findings] == ["truncated"]


def test_a_broken_line_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "lines.json"
    lines = list(map(json.dumps, EVENTS))
    lines[50] = lines[50][:20]
    path.write_text("\n".join(lines))
    raw = chrome.CHROME.read(str(path), None)
    assert len(raw.groups["cpu_op"].name) >= 198
    assert {finding.code for finding in raw.findings} <= {"damaged", "truncated"}


def test_such_a_file_is_a_run(tmp_path: Path) -> None:
    written(tmp_path / "any.json", "\n")
    assert len(scan(str(tmp_path), READERS).runs.runs) == 1


def test_objects_that_are_no_events(tmp_path: Path) -> None:
    for text in (b"", b"[{}]", b'{"ph": 7}', b'{"ph": "long"}', b'{"a": 1}\n{}'):
        assert not begins_with_event(text)
    assert begins_with_event(b'{"ph": "X"') is None
    assert not begins_with_event(b'{"ph": "X", "traceEvents": []}')
    assert begins_with_event(b'\xef\xbb\xbf {"name": "traceEvents", "ph": "M"}')


def pieces(text: bytes, sizes: list[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        yield text[at : at + size]
        at += size
    yield text[at:]


PARTS = ["{", "}", "\n", "\r", " ", ",", '"a"', ":", "1", '"}\\n{"']


@given(st.lists(st.sampled_from(PARTS), max_size=40), st.lists(st.integers(0, 5), max_size=40))
def test_any_blocks_give_the_same(parts: list[str], sizes: list[int]) -> None:
    text = "".join(parts).encode()
    whole = b"".join(lines_as_list(iter([text])))
    assert b"".join(lines_as_list(pieces(text, sizes))) == whole
    assert whole.removesuffix(b"]").replace(b",", b"\n") == text.replace(b",", b"\n")
