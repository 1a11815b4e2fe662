"""Answers to agents are cut to a size, and say how to get the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.server.agents.compact import compact, to_json
from tb_privateuse1.server.agents.field_paths import ResultPart, select
from tb_privateuse1.server.agents.fit import fit
from tests.support.agents import expanded
from tests.support.repeats import repeats

NAMES = st.sampled_from(["name", "ns", "share", "rows", "stack", "bound_ns", "é…"])
PLAIN = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
TEXTS = st.text(max_size=20) | st.integers(1, 400).map(lambda n: 'é"\n'[n % 3] * n)
VALUES = st.recursive(
    PLAIN | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(NAMES, inner, max_size=5)
        | st.tuples(st.lists(NAMES, max_size=4, unique=True), st.integers(0, 40), inner).map(
            lambda made: [dict.fromkeys(made[0], made[2]) for _ in range(made[1])]
        )
    ),
    max_leaves=30,
)


def parts(result: dict[str, Any]) -> dict[str, ResultPart]:
    return {name: ResultPart(name, value) for name, value in result.items()}


@pytest.mark.long
@settings(max_examples=repeats(60))
@given(st.dictionaries(NAMES, VALUES, max_size=6), st.integers(1000, 6000))
def test_an_answer_fits_and_has_true_values(result: dict[str, Any], size: int) -> None:
    body = fit(parts(result), size)
    assert len(body) <= size
    found = json.loads(body)
    more = found.pop("more", None)
    whole = json.loads(to_json(compact(result)))
    if len(to_json(compact(result))) <= size:
        assert (found, more) == (whole, None)
        return
    for name, value in found.items():
        assert is_part(expanded(value), expanded(whole[name])), name
    for path in (p for p in more["fields"] if "é" not in p):
        select(result, path)


def is_part(cut: Any, whole: Any) -> bool:
    """Return whether each number, boolean and null of a cut value is that of the whole one."""
    if isinstance(cut, str):
        # "… 5" stands for five more items of a list.
        return cut.startswith("… ") or str(whole).startswith(cut.removesuffix("…"))
    if isinstance(cut, list) and isinstance(whole, list):
        own = cut[: len(whole)]
        return all(is_part(c, w) for c, w in zip(own, whole, strict=False))
    if isinstance(cut, dict) and isinstance(whole, dict):
        return all(name in whole and is_part(value, whole[name]) for name, value in cut.items())
    if isinstance(cut, dict):  # a table with fewer rows than it had
        return "others" in cut and isinstance(whole, list)
    return type(cut) is type(whole) and cut == whole


def test_main_fields_get_the_room() -> None:
    rows = [{"name": f"n{i}", "ns": i} for i in range(500)]
    found = json.loads(fit(parts({"first": rows, "main": rows}), 4000, main=["main"]))
    assert len(found["main"]["rows"]) > 3 * len(found["first"]["rows"]) > 0


def test_rows_are_cut_from_the_end_and_the_rest_is_a_path() -> None:
    rows = [{"name": f"n{i}", "ns": i} for i in range(500)]
    shown: list[dict[str, Any]] = []
    path = "rows"
    while path:
        found = json.loads(fit({path: select({"rows": rows}, path)}, 2000))
        shown += expanded(found[path])
        path = next(iter(found.get("more", {"fields": []})["fields"]), "")
    assert shown == rows


def test_later_fields_are_listed_only() -> None:
    found = json.loads(fit(parts({"a": 1}), 1000, later=["curve"]))
    assert found["a"] == 1
    assert found["more"]["fields"] == ["curve"]


def test_long_cells_are_cut_before_rows() -> None:
    rows = [{"name": "x" * 900, "ns": i, "stack": list(range(100))} for i in range(8)]
    found = json.loads(fit(parts({"rows": rows}), 3000))
    assert [row[1] for row in found["rows"]["rows"]] == list(range(8))
    assert all(row[0].endswith("…") for row in found["rows"]["rows"])
    assert found["more"]["fields"] == ["rows[0]"]


def test_a_row_that_is_too_large_is_cut_inside() -> None:
    row = {"name": "a", **{f"text_{i}": "x" * 3000 for i in range(20)}, "ns": 5}
    found = json.loads(fit(parts({"rows": [row, row]}), 1000))
    (first,) = found["rows"]
    assert (first["name"], first["ns"]) == ("a", 5)
    assert "rows[1:]" in found["more"]["fields"]


def test_many_paths_leave_room_for_values() -> None:
    result = {f"field_{i:03}": "x" * 400 for i in range(200)}
    found = json.loads(fit(parts(result), 1000))
    assert found["more"]["unlisted"] > 100
