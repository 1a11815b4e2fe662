"""Answers to pages: packed tables are what JSON says, in fewer bytes."""

from __future__ import annotations

import itertools
import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from tb_privateuse1.i18n import Text
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.encoding import PAGE_BYTES, encode, encode_columns
from tb_privateuse1.views.packing import pack
from tests.support.make import frame, kernel, launch, memory, op, step, trace
from tests.support.results import result


class Row(Struct, frozen=True):
    name: str
    stack: str | None
    count: int
    share: float | None
    is_known: bool
    inner: tuple[int, ...]


class Made(Struct, frozen=True):
    total: int
    rows: tuple[Row, ...]


def made(rows: int) -> Made:
    return Made(
        rows,
        tuple(
            Row(
                f"kernel {i}",
                ";".join(f"file.py({j}): f" for j in range(i % 7, 12)) if i % 5 else None,
                i << 20,
                None if i % 3 else i / 7,
                i % 2 == 0,
                (i, i + 1),
            )
            for i in range(rows)
        ),
    )


def unpacked(body: bytes) -> Any:
    """The answer as a page has it: `frontend/src/api/binary.ts`."""
    (size,) = struct.unpack("<I", body[:4])
    base = -(-(4 + size) // 8) * 8

    def revive(value: dict[str, Any]) -> Any:
        if place := value.get("$column"):
            return np.frombuffer(body, place[0], place[2], base + place[1]).tolist()
        if (of := value.get("$list")) is not None:
            return of
        if of := value.get("$values"):
            return [of[0][i] for i in of[1]]
        if of := value.get("$parts"):
            parts, at = [of[0][i] for i in of[1]], np.cumsum([0, *of[2]])
            texts = [";".join(parts[a:b]) for a, b in itertools.pairwise(at)]
            return [text if n else None for text, n in zip(texts, of[2], strict=True)]
        if of := value.get("$lists"):
            ends = np.cumsum([0, *of[1]])
            return [of[0][a:b] for a, b in itertools.pairwise(ends)]
        if (rows := value.get("$rows")) is not None:
            return [dict(zip(rows, one, strict=True)) for one in zip(*rows.values(), strict=True)]
        return value

    return json.loads(body[4 : 4 + size], object_hook=revive)


def test_a_packed_table_is_what_json_says_and_smaller() -> None:
    one = made(400)
    body = encode_columns(one)
    assert body is not None
    assert unpacked(body) == json.loads(encode(one))
    assert len(body) < len(encode(one)) / 4


def test_a_small_table_stays_json() -> None:
    assert encode_columns(made(5)) is None


def test_texts_that_are_the_same_in_english_only_stay_apart() -> None:
    texts = [Text("all", template, {}) for template in ("{all}", "all")] * 40
    assert [str(text) for text in unpacked(encode_columns([texts, [0] * 40]) or b"")[0]] == (
        ["all"] * 80
    )
    first, second = pack(texts)["$values"][0]
    assert (first.template, second.template) == ("{all}", "all")


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 62), 1 << 62)
    | st.floats()
    | st.text("a;b", max_size=6)
)


@given(st.lists(SCALARS, min_size=1, max_size=4), st.integers(0, 80), st.booleans())
def test_any_column_is_what_json_says(values: list[Any], rows: int, is_table: bool) -> None:
    column = list(itertools.islice(itertools.cycle(values), rows))
    one = [Cell(value) for value in column] if is_table else column
    numbers = np.arange(3)
    assert unpacked(encode_columns([one, numbers]) or b"") == json.loads(encode([one, numbers]))


@given(
    st.lists(st.lists(SCALARS | st.lists(st.integers(0, 9), max_size=2), max_size=3), min_size=1),
    st.integers(0, 80),
    st.booleans(),
)
def test_any_lists_are_what_json_says(values: list[Any], rows: int, is_table: bool) -> None:
    column: list[Any] = list(itertools.islice(itertools.cycle(values), rows))
    if is_table:
        column = [Cell([Cell(item) for item in one]) for one in column]
    one = [column, np.arange(3)]
    assert unpacked(encode_columns(one) or b"") == json.loads(encode(one))


@given(st.lists(st.text("a;b", min_size=9, max_size=20) | st.none(), min_size=1, max_size=4))
def test_long_texts_in_parts_are_what_json_says(texts: list[str | None]) -> None:
    column = [text and f"{text};{i}" * 9 for i in range(10) for text in texts]
    one = [column, np.arange(3)]
    assert unpacked(encode_columns(one) or b"") == json.loads(encode(one))


class Cell(Struct, frozen=True):
    value: Any


@pytest.fixture(scope="module")
def wide() -> Trace:
    """Many steps, threads, streams and different long names."""
    count = 90
    return trace(
        *(step(i, 20 * i, 20 * i + 20) for i in range(count)),
        *(
            event
            for i in range(count)
            for event in (
                frame(f"file{i % 9}.py({i}): f" + 200 * "x", 20 * i, 20 * i + 19),
                op(f"aten::op{i}" + 200 * "x", 20 * i + 1, 20 * i + 9, i, thread=i % 40),
                launch(20 * i + 2, 20 * i + 3, i, thread=i % 40, **{"External id": i}),
                kernel(f"void k{i}<{200 * 'x'}>()", 20 * i + 4, 20 * i + 18, i, stream=i % 64),
                memory(20 * i + 5, 4096, 4096 * i, Addr=4096 * i),
            )
        ),
    )


@pytest.mark.parametrize("view", [name for name in VIEWS if name not in ("whatif", "advice")])
def test_the_answer_of_a_view_is_what_json_says_and_below_the_limit(view: str, wide: Trace) -> None:
    one = result(VIEWS[view], wide)
    plain = encode(one)
    body = encode_columns(one)
    assert len(body or plain) <= PAGE_BYTES
    if body:
        assert len(body) <= len(plain)
        assert rounded(unpacked(body)) == rounded(json.loads(plain))


def rounded(value: Any) -> Any:
    """The value with its numbers as float32 has them: some columns of the timeline are such."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(np.float32(value)) if isinstance(value, float) else value
