"""The outermost keys up to a list of events, wherever the text is cut."""

from __future__ import annotations

import pytest

from tb_privateuse1.readers.chrome.top_level_keys import Members, State

WHOLE = b'"a": {"traceEvents": [1]}, "b\\"": 12, "traceEvents": ['


def test_every_cut_is_unfinished_and_goes_on_with_more_text() -> None:
    for stop in range(len(WHOLE)):
        members = Members()
        assert members.walk(WHOLE[:stop], 0) == "unfinished"
        assert members.walk(WHOLE, 0) == "list"
        assert members.length == len(WHOLE)
        assert {key: bytes(value) for key, value in members.keys.items()} == {
            "a": b'{"traceEvents": [1]}',
            'b"': b"12",
        }


@pytest.mark.parametrize(
    ("text", "state"),
    [(b', "a": 1}', "end"), (b"}", "end"), (b'"a": x, "b": 1', "broken"), (b'"a" 5}', "broken"),
     (b'"a": 1 "b": 2}', "broken"), (b'"a": [1, 2', "unfinished"), (b'"a', "unfinished")],
)  # fmt: skip
def test_what_ends_a_walk(text: bytes, state: State) -> None:
    assert Members().walk(text, 0) == state
