"""Where events and keys stand in a file, in every layout, and that nothing is held or lost."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.readers.chrome import top_level_keys, windows
from tb_privateuse1.readers.chrome.document import Document
from tb_privateuse1.readers.chrome.problem_tally import Tally

ODD = '},{ \\ " '
"""A name that looks like what stands between two events."""

EVENTS = [
    {"ph": "X", "name": f"{ODD}{i}", "ts": i, "args": {"l": [{"x": [[]]}, {"b": "y"}]}}
    for i in range(40)
]


def blocks(data: bytes, size: int) -> Iterator[bytes]:
    yield from (data[i : i + size] for i in range(0, len(data), size))


def parse(data: bytes, size: int = 7) -> tuple[list[Any], dict[str, Any], Tally]:
    """Events, keys and what was noted; the text comes in blocks of ``size`` bytes."""
    tally = Tally()
    document = Document(blocks(data, size), "t.json", tally)
    events: list[Any] = []
    for text, some in document.windows(msgspec.json.Decoder(list[Any]).decode):
        assert json.loads(text) == some
        events += some
    return events, {k: json.loads(bytes(v)) for k, v in document.keys.items()}, tally


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WINDOW", 300)
    monkeypatch.setattr(windows, "_SMALL", 100)
    monkeypatch.setattr(windows, "_ONE", 256)


@pytest.mark.parametrize("size", [1, 7, 64, 10**6])
@pytest.mark.parametrize("indent", [None, 0, 2])
def test_object_and_list_in_any_spacing(size: int, indent: int | None) -> None:
    keys = {"a": {"traceEvents": ["no"]}, "b": '"traceEvents": [', "c": [1, {}]}
    after = {"d": [{"x": 1}, {"ph": 2}], "e": "}]"}
    for separators in (None, (",", ":"), (" ,\n", " : ")):
        document = {**keys, "traceEvents": EVENTS, **after}
        text = json.dumps(document, indent=indent, separators=separators).encode()
        events, found, tally = parse(text, size)
        assert events == EVENTS
        assert found == keys | after
        bare = json.dumps(EVENTS, indent=indent, separators=separators).encode()
        assert parse(bare + b" \n", size)[0] == EVENTS
        assert not tally.findings()


def test_a_byte_order_mark_is_no_damage() -> None:
    events, _, tally = parse(b"\xef\xbb\xbf" + json.dumps({"traceEvents": EVENTS}).encode())
    assert events == EVENTS
    assert not tally.findings()


def test_several_lists_are_all_read() -> None:
    text = json.dumps(EVENTS)
    data = f'{{"a": 1, "traceEvents": {text}, "b": 2, "traceEvents": {text}, "c": 3}}'.encode()
    events, keys, tally = parse(data)
    assert events == EVENTS * 2
    assert keys == {"a": 1, "b": 2, "c": 3}
    assert [f.code for f in tally.findings()] == ["several_event_lists"]


def test_one_event_larger_than_any_window() -> None:
    large = {"ph": "X", "name": "},{" * 40_000, "ts": 1}
    events, _, tally = parse(json.dumps([*EVENTS, large, *EVENTS]).encode(), 4096)
    assert events == [*EVENTS, large, *EVENTS]
    assert not tally.findings()


@given(st.data())
def test_a_cut_file_keeps_all_whole_events(data: st.DataObject) -> None:
    whole = json.dumps({"a": 1, "traceEvents": EVENTS, "b": 2}).encode()
    start = whole.index(b"[") + 1
    cut = data.draw(st.integers(start, len(whole) - 9))
    events, keys, tally = parse(whole[:cut], 64)
    ends = [start + len(json.dumps(EVENTS[: i + 1])) - 2 for i in range(len(EVENTS))]
    assert events == EVENTS[: sum(end <= cut for end in ends)]
    assert keys["a"] == 1
    assert "truncated" in tally or "damaged" in tally


@given(st.integers(0, len(EVENTS) - 1), st.data())
def test_damage_costs_the_events_that_it_is_in(at: int, data: st.DataObject) -> None:
    texts = [json.dumps(event).encode() for event in EVENTS]
    where = data.draw(st.integers(0, len(texts[at]) - 1))
    byte = data.draw(st.sampled_from(list(b'{}[]":,x\x00\xff\\')))
    texts[at] = texts[at][:where] + bytes([byte]) + texts[at][where + 1 :]
    events, keys, _ = parse(b'{"a": 1, "traceEvents": [' + b", ".join(texts) + b'], "b": 2}', 64)
    assert keys["a"] == 1
    assert [e for e in events if e in EVENTS[:at]] == EVENTS[:at]
    # The damage may swallow the beginning of the next event, no more.
    assert [e for e in events if e in EVENTS[at + 2 :]] == EVENTS[at + 2 :]


def test_metadata_that_are_damaged_cost_no_event() -> None:
    data = b'{"a": 1, "b": {"c" 3}, "d": [4], "traceEvents": ' + json.dumps(EVENTS).encode() + b"}"
    events, keys, tally = parse(data)
    assert events == EVENTS
    assert (keys["a"], keys["d"]) == (1, [4])
    assert [f.code for f in tally.findings()] == ["metadata_damaged"]


def test_metadata_behind_the_events_that_are_damaged() -> None:
    data = b'{"traceEvents": ' + json.dumps(EVENTS).encode() + b', "a": 1, "b": nonsense, "c": 2}'
    events, keys, tally = parse(data)
    assert events == EVENTS
    assert keys == {"a": 1, "c": 2}
    assert [f.code for f in tally.findings()] == ["metadata_damaged"]


def test_a_damaged_last_event_does_not_hide_what_follows() -> None:
    data = b'{"traceEvents": [{"ph": "X", "ts": 1}, {"ph": "X" "ts": 2}], "b": [{"x": 2}]}'
    events, keys, tally = parse(data)
    assert events == [{"ph": "X", "ts": 1}]
    assert keys == {"b": [{"x": 2}]}
    assert [f.code for f in tally.findings()] == ["damaged"]


def test_depth_is_damage_like_any_other() -> None:
    deep = b'{"ph": "X", "args": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    events, _, tally = parse(b'[{"ph": "X"}, ' + deep + b', {"ph": "f"}]', 1 << 20)
    assert events == [{"ph": "X"}, {"ph": "f"}]
    assert "damaged" in tally


HOSTILE = {
    "nested lists": (
        lambda n: b'{"a":{' + b",".join([b'"traceEvents":[]'] * n) + b'},"traceEvents":[%s]}'
    ),
    "lists in a key without an end": lambda n: b'{"a":{' + b'"traceEvents":[%s],' * n,
    "lists behind a broken key": lambda n: b'{"a":x,' + b'"traceEvents":[%s],' * n,
    "keys": lambda n: b"{" + b'"a":[1,2,3,4,5],' * n + b'"traceEvents":[%s]}',
    "lists": lambda n: b"{" + b'"traceEvents":[],' * n + b'"traceEvents":[%s]}',
    "brackets behind damage": lambda n: b'{"traceEvents":[%s,x' + b'],"a":[' * n + b"x",
}


@pytest.mark.long
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_twice_the_text_is_twice_the_work(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[int], bytes]
) -> None:
    """Work is the bytes that are decoded, or searched for the length of a value."""
    work = 0
    length = top_level_keys.value_length

    def counted(text: memoryview) -> int:
        nonlocal work
        try:
            found = length(text)
        except msgspec.DecodeError:
            work += len(text)
            raise
        work += found
        return found

    def decode(text: bytes) -> list[Any]:
        nonlocal work
        work += len(text)
        found: list[Any] = msgspec.json.decode(text, type=list[Any])
        return found

    monkeypatch.setattr(top_level_keys, "value_length", counted)
    spent = []
    for n in (500, 1000, 2000):
        work = 0
        data = make(n).replace(b"%s", b'{"ph":"X"}')
        found = Document(blocks(data, 4096), "t.json", Tally())
        assert [event for _, some in found.windows(decode) for event in some]
        spent.append(work)
    assert spent[1] < 2.5 * spent[0] + 10_000
    assert spent[2] < 2.5 * spent[1] + 10_000


def test_a_window_is_released_before_the_next_is_decoded() -> None:
    alive: list[weakref.ref[Decoded]] = []

    def decode(text: bytes) -> list[Any]:
        assert not [window for window in alive if window() is not None]
        events = Decoded(msgspec.json.decode(text))
        alive.append(weakref.ref(events))
        return events

    data = json.dumps({"traceEvents": EVENTS}).encode()
    for window in Document(blocks(data, 50), "t.json", Tally()).windows(decode):
        del window
    assert len(alive) > 3


class Decoded(list[Any]):
    """A list that can be referenced weakly."""
