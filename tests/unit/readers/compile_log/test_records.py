"""What the records of a log mean, in the spelling of several versions of torch."""

from __future__ import annotations

import pytest

from tb_privateuse1.readers.compile_log import records
from tests.support.compile_logs import BREAK


def test_a_graph_break() -> None:
    found = records.graph_break(BREAK.encode())
    assert found.reason == "Failed to trace builtin operator"
    assert (found.file, found.line) == ("/app/train.py", 14)
    assert found.advice.splitlines() == [
        "Explanation: Dynamo does not know how to trace builtin operator `print`",
        "Hint: Avoid calling builtin `print`",
    ]


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        (
            "Graph break in user code at /app/a.py:3\nReason: Unsupported: call_function print\n"
            'User code traceback:\n  File "/app/a.py", line 3, in f\n',
            "call_function print", 3,
        ),
        ('generic\nUser code traceback:\n  File "/app/a.py", line 5, in f', "generic", 5),
        ("", "", None),
    ],
)  # fmt: skip
def test_a_graph_break_of_an_older_torch(text: str, reason: str, line: int | None) -> None:
    found = records.graph_break(text.encode())
    assert (found.reason, found.line) == (reason, line)


def test_the_guards_of_a_recompilation() -> None:
    one = "5/0: n == 0        # return x * n  # pp/train.py:27 in flagged\nUser stack trace:\n"
    one += '  File "/app/train.py", line 27, in flagged'
    assert records.recompilation(one.encode()) == (["5/0: n == 0"], "/app/train.py", 27)
    several = b'[\n"5/1: n == 1",\n"5/0: n == 0"\n]'
    assert records.recompilation(several) == (["5/1: n == 1", "5/0: n == 0"], "", None)
    assert records.recompilation(b"[\n1, 2\n]")[0] == ["[\n1, 2\n]".partition("\n")[0]]


def test_a_guard_of_many_spaces_is_read_once() -> None:
    # By the square of their number this would take hours.
    [reason], *_ = records.recompilation(b"0/0: n" + b" " * 1_000_000 + b"x  # return x")
    assert reason.startswith("0/0: n  ")


def test_long_texts_are_cut() -> None:
    assert len(records.graph_break(b"x" * 10_000).reason) == 4000


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b'{"frame_id": 3, "frame_compile_id": 1, "attempt": 0}', "3/1"),
        (b'{"compiled_autograd_id": 2, "frame_id": 3, "frame_compile_id": 1}', "!2/3/1"),
        (b'{"compiled_autograd_id": 2}', "!2"),
        (b'{"stack": []}', None),
    ],
)
def test_the_name_of_a_compilation(text: bytes, name: str | None) -> None:
    found = records.decoded(text)
    assert found is not None
    assert found.compile_id == name


@pytest.mark.parametrize("text", [b"{", b'{"frame_id": "x"}', b"[1]", b'{"str": [1]}', b"[" * 5000])
def test_damaged_records_are_none(text: bytes) -> None:
    assert records.decoded(text) is None
