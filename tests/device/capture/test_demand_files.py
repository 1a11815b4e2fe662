"""Requests are written by others: each is either valid or refused with a text."""

from __future__ import annotations

import contextlib
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.capture.demand import files as demand_files
from tb_privateuse1.capture.demand.files import RefusedError, job_path, parse, read_request
from tests.support.demand import ID, request


def encode(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_a_valid_request() -> None:
    asked = parse(encode(request(from_step=812, ranks=[0, 3], stacks=True, by="TensorBoard me\n")))
    assert (asked.id, asked.from_step, asked.steps, asked.warmup) == (ID, 812, 2, 1)
    assert asked.ranks == (0, 3)
    assert asked.options() == {"with_stack": True}
    assert asked.by == "TensorBoard me "


def test_what_has_a_default_may_be_missing() -> None:
    short = request()
    for key in ("warmup", "ranks", "from_step", "shapes", "stacks", "memory", "by"):
        del short[key]
    asked = parse(encode({**short, "later": "a field of a later version"}))
    assert (asked.warmup, asked.ranks, asked.from_step, asked.options()) == (1, None, None, {})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": "tb_privateuse1.recording_request/2"}, "schema must be"),
        ({"steps": 0}, "steps must be a whole number from 1 to 1000"),
        ({"steps": 1001}, "steps must be"),
        ({"steps": True}, "steps must be"),
        ({"steps": 2.0}, "steps must be"),
        ({"steps": "2"}, "steps must be"),
        ({"warmup": -1}, "warmup must be"),
        ({"warmup": 101}, "warmup must be"),
        ({"warmup": None}, "warmup must be"),
        ({"from_step": -1}, "from_step must be"),
        ({"from_step": 1 << 60}, "from_step must be"),
        ({"expires_ns": None}, "expires_ns must be"),
        ({"ranks": []}, "ranks must be"),
        ({"ranks": [1, 0]}, "ranks must be sorted"),
        ({"ranks": [0, 0]}, "ranks must be sorted"),
        ({"ranks": [-1]}, "ranks must be sorted"),
        ({"ranks": [False]}, "ranks must be"),
        ({"ranks": "all"}, "ranks must be"),
        ({"stacks": 1}, "stacks must be true, false or null"),
        ({"by": "x" * 101}, "by must be a text"),
        ({"by": ["x"]}, "by must be a text"),
        ({"id": ID}, None),
    ],
)
def test_each_field_is_checked(changes: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert parse(encode(request(**changes)))
        return
    with pytest.raises(RefusedError, match=message) as refused:
        parse(encode(request(**changes)))
    assert refused.value.id == ID
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"[" * 30000,
        b'{"id":' * 5000,
        b"9" * 30000,
        b'{"id": "../../etc/passwd"}',
        b'{"id": "0123456789ABCDEF"}',
        b'{"id": "0123456789abcdef\\n"}',
        b" " * (65 << 10),
    ],
)
def test_what_is_no_request(data: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        parse(data)
    assert refused.value.id is None


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
), st.integers(0, 11))  # fmt: skip
def test_no_value_of_a_field_does_harm(value: Any, at: int) -> None:
    valid = request()
    try:
        asked = parse(encode({**valid, list(valid)[at]: value}))
    except RefusedError:
        return
    assert 1 <= asked.steps <= demand_files.MOST_STEPS
    assert 0 <= asked.warmup <= demand_files.MOST_WARMUP


@given(st.binary(max_size=200))
def test_no_bytes_do_harm(data: bytes) -> None:
    with pytest.raises(RefusedError):
        parse(data)


def test_a_request_cut_off_or_changed_anywhere_is_refused_or_valid() -> None:
    data, chance = encode(request()), random.Random(0)
    for at in range(len(data)):
        with pytest.raises(RefusedError):
            parse(data[:at])
        changed = bytearray(data)
        changed[at] = chance.randrange(256)
        with contextlib.suppress(RefusedError):
            parse(bytes(changed))


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    pipe, link, folder = (tmp_path / name for name in ("pipe", "link", "folder"))
    os.mkfifo(pipe)
    link.symlink_to("/dev/zero")
    folder.mkdir()
    for path in (pipe, link, folder):
        with pytest.raises(RefusedError):
            read_request(path)
    with pytest.raises(FileNotFoundError):
        read_request(tmp_path / "none")


def test_a_workers_name_is_no_path() -> None:
    assert job_path(Path("d"), "../a b").name == "job-.._a_b.json"


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    demand_files.write_atomically(tmp_path / "a.json", {"a": 1})
    demand_files.write_atomically(tmp_path / "a.json", {"a": 2})
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": 2}
    (tmp_path / "b.json").mkdir()
    with pytest.raises(OSError, match=r"b\.json"):
        demand_files.write_atomically(tmp_path / "b.json", {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"]
