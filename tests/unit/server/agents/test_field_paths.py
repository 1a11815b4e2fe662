"""Paths that select a part of an answer to an agent."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.server.agents.field_paths import ResultPart, rest, select
from tb_privateuse1.trace.errors import TraceError

RESULT = {"a": {"b": [{"c": 1}, {"c": 2}, {"c": 3}]}, "text": "x", "none": None}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a", RESULT["a"]),
        ("a.b[1]", {"c": 2}),
        ("a.b[1].c", 2),
        ("a.b[1:]", [{"c": 2}, {"c": 3}]),
        ("a.b[:1]", [{"c": 1}]),
        ("a.b[1:2]", [{"c": 2}]),
        ("a.b[7:]", []),
        ("none", None),
    ],
)
def test_a_path_selects(path: str, value: Any) -> None:
    assert select(RESULT, path).value == value


@pytest.mark.parametrize(
    "path",
    ["", "b", "a.x", "a[0]", "a.b[3]", "a.b[-1]", "a.b[1:].c", "a..b", ".a", "a.b.", "text.x",
     "text[0:]", "a.b[1", "a b", "__class__", "a" * 300, "a.b[99999999999]", "../../etc/passwd"],
)  # fmt: skip
def test_another_path_is_an_error(path: str) -> None:
    with pytest.raises(TraceError) as raised:
        select(RESULT, path)
    assert raised.value.code == "bad_option"
    assert raised.value.hint


def test_the_rest_of_a_part_continues_it() -> None:
    part = select(RESULT, "a.b[1:3]")
    assert part == ResultPart("a.b", [{"c": 2}, {"c": 3}], 1, 3)
    assert rest(part, 1) == "a.b[2:3]"
    assert select(RESULT, rest(part, 1)).value == [{"c": 3}]
    assert rest(ResultPart("a.b", []), 2) == "a.b[2:]"
