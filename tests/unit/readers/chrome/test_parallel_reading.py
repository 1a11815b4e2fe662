"""A file that several processes read has the columns, counts and errors of one that one reads."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import Struct

from tb_privateuse1.readers import worker_pool
from tb_privateuse1.readers.chrome import (
    event_kinds,
    parallel_reading,
    window_chain,
    windows,
)
from tb_privateuse1.readers.chrome.file_reading import FileReading, read
from tb_privateuse1.readers.chrome.parallel_reading import read_parallel
from tb_privateuse1.readers.reader import Processes
from tb_privateuse1.trace.errors import TraceError
from tests.support import make
from tests.support.repeats import repeats

pytestmark = pytest.mark.skipif(not worker_pool.CAN_FORK, reason="only Linux forks")

_WINDOW = 1 << 13


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Cut small windows; has the number of events of each part that another process has read."""
    parts: list[int] = []
    for module in (windows, window_chain, parallel_reading):
        monkeypatch.setattr(module, "WINDOW", _WINDOW)
    original = FileReading.join

    def noted(self: FileReading, *args: Any) -> bool:
        done = original(self, *args)
        if done:
            parts.append(sum(args[0].events))
        return done

    monkeypatch.setattr(FileReading, "join", noted)
    return parts


def assert_same(first: object, second: object) -> None:
    """Compare values of dataclasses, arrays to the byte and dictionaries in order."""
    assert type(first) is type(second)
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        assert first.dtype == second.dtype
        assert first.tobytes() == second.tobytes()
    elif isinstance(first, Struct):
        for name in first.__struct_fields__:
            assert_same(getattr(first, name), getattr(second, name))
    elif isinstance(first, dict) and isinstance(second, dict):
        assert list(first) == list(second)
        for key, value in first.items():
            assert_same(value, second[key])
    else:
        assert first == second


def outcome(path: Path, processes: int) -> object:
    """Return the raw columns of a file, or the error as a dictionary."""
    try:
        if processes == 1:
            return read(str(path))
        return read_parallel(str(path), None, Processes(processes), least_bytes=0)
    except TraceError as error:
        return error.packed()


def events(count: int, random_: random.Random) -> Iterator[make.Event]:
    """Yield events of all phases that have columns, some kinds for the first time far behind."""
    for i in range(count):
        thread = {"pid": 1, "tid": random_.choice([1, 2, "2", "main"])}
        name = f"aten::{random_.choice('abcdef')}"
        sizes = {"Input Dims": [[i % 7, 2], []], "Input type": ["float", ""]}
        yield random_.choice(
            [
                make.op(name, 2 * i, 2 * i + 1, i, **sizes),
                make.kernel(f"k{i % 9}", 2 * i, 2 * i + 3, i),
                make.memory(2 * i, 512, 1024 + i),
                {"ph": "B", "cat": f"x{i % 3}", "name": name, "ts": 2 * i, **thread},
                {"ph": "E", "ts": 2 * i + 1, **thread},
                {"ph": "C", "name": "power", "pid": 1, "ts": 2 * i, "args": {f"w{i % 4}": i}},
                {"ph": "sf"[i % 2], "cat": "ac2g", "name": "f", "id": i, "ts": 2 * i, **thread},
                {"ph": "M", "name": "thread_name", "args": {"name": f"t{i % 5}"}, **thread},
                {"ph": "N", "name": "created", "ts": 2 * i, **thread},
                make.span(f"late{i // 100}", name, 2 * i, 2 * i + 1),
                make.op(name, 2 * i + 5, 2 * i),
            ]
        )


def text(count: int, seed: int) -> bytes:
    """Return a document with keys on both sides of its events."""
    found = list(events(count, random.Random(seed)))
    document = {"schemaVersion": 1, "traceEvents": found, "traceName": "x", "distributedInfo": {}}
    return json.dumps(document, indent=seed % 3 or None).encode()


@pytest.mark.long
def test_sound_files_are_equal_to_the_byte(tmp_path: Path, joined: list[int]) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(text(1500, 1))
    first = outcome(path, 1)
    assert_same(first, outcome(path, 2))
    assert sum(joined) > 750
    packed = tmp_path / "packed.json.gz"
    packed.write_bytes(gzip.compress(text(1500, 1)))
    joined.clear()
    assert_same(outcome(packed, 1), outcome(packed, 2))
    assert sum(joined) > 750


_DAMAGES = (
    b"NaN",
    b'"',
    b"}",
    b"]",
    b"},{",
    b'"traceEvents": [',
    b"\\",
    b"\xff",
    b'{"ts": "12.5", "ph": "X"},',
    b'{"ph": "X", "ts": 1795229768077415.123, "dur": 1, "name": "far"},',
    b'{"ph": 7},',
    b'], "traceEvents": [',
)


def damaged(content: bytes, random_: random.Random) -> bytes:
    """Return a text with damages at some places, and maybe without its end."""
    for _ in range(random_.choice([1, 1, 2, 5])):
        at = random_.randrange(len(content))
        at = max(content.find(b"{", at), 0) if random_.random() < 0.5 else at
        kept = at + random_.choice([0, 0, 1, 40])
        content = content[:at] + random_.choice(_DAMAGES) + content[kept:]
    return content[: random_.randrange(len(content))] if random_.random() < 0.2 else content


def compare_damaged(seeds: range, folder: Path) -> None:
    """Compare both ways to read damaged files, plain and packed."""
    for seed in seeds:
        random_ = random.Random(seed)
        content = damaged(text(600, seed), random_)
        path = folder / ("trace.json.gz" if seed % 4 == 3 else "trace.json")
        path.write_bytes(gzip.compress(content, 1) if seed % 4 == 3 else content)
        try:
            assert_same(outcome(path, 1), outcome(path, 1 + 1))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error


@pytest.mark.long
def test_damaged_files_are_equal_to_the_byte(tmp_path: Path, joined: list[int]) -> None:
    compare_damaged(range(6), tmp_path)
    assert joined


@pytest.mark.long
def test_more_damaged_files_are_equal_to_the_byte(tmp_path: Path, joined: list[int]) -> None:
    compare_damaged(range(100, 100 + repeats(30, 6)), tmp_path)
    assert joined


@pytest.mark.parametrize("limit", ["_MOST_KINDS", "lines", "few"])
def test_files_that_only_one_process_can_read(
    tmp_path: Path, joined: list[int], limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(text(600, 3))
    if limit == "_MOST_KINDS":
        monkeypatch.setattr(event_kinds, limit, 5)
    elif limit == "lines":
        lines = (json.dumps(event) for event in events(600, random.Random(4)))
        path.write_text("\n".join(lines))
    else:
        path.write_bytes(text(5, 3))
    assert_same(outcome(path, 1), outcome(path, 2))
    assert not joined


@pytest.mark.parametrize("is_packed", [False, True])
def test_progress_is_in_bytes_of_the_file(
    tmp_path: Path, joined: list[int], is_packed: bool
) -> None:
    path = tmp_path / "trace.json"
    content = text(1500, 7)
    path.write_bytes(gzip.compress(content) if is_packed else content)
    states: list[tuple[str, int, int, int]] = []
    read_parallel(str(path), lambda *state: states.append(state), Processes(2), least_bytes=0)
    done = [state[1] for state in states]
    assert max(done) == done[-1] == path.stat().st_size
    assert {state[2] for state in states} == {path.stat().st_size}
    assert states[-1][3] == 1500
    assert joined


@pytest.mark.long
def test_one_process_reads_on_if_a_worker_dies(
    tmp_path: Path, joined: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(text(1500, 5))
    original = parallel_reading.read_part

    def dying(request: bytes, memory: memoryview, file: int | None) -> bytes:
        if os.path.exists(tmp_path / "once"):
            os.kill(os.getpid(), signal.SIGKILL)
        (tmp_path / "once").touch()
        return original(request, memory, file)

    monkeypatch.setattr(parallel_reading, "read_part", dying)
    assert_same(outcome(path, 1), outcome(path, 2))
    assert (tmp_path / "once").exists()


def test_cancelling_leaves_no_process(
    tmp_path: Path, joined: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(text(1500, 6))
    pools: list[list[int]] = []
    original = worker_pool.Pool.__init__

    def noted(self: worker_pool.Pool, *args: Any, **named: Any) -> None:
        original(self, *args, **named)
        pools.append(self.pids())

    def progress(phase: str, done: int, total: int, count: int) -> None:
        if joined:
            raise TraceError("canceled", "canceled")

    monkeypatch.setattr(worker_pool.Pool, "__init__", noted)
    with pytest.raises(TraceError, match="canceled"):
        read_parallel(str(path), progress, Processes(2), least_bytes=0)
    assert len(pools[0]) == 2
    for pid in pools[0]:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, 0)
