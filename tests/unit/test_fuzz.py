"""Mutated real traces: never a crash, never a hang, bounded memory, every sum closes.

``FUZZ_TRACES=20000 pytest tests/unit/test_fuzz.py`` is the long run; ``FUZZ_SEED`` chooses another.
"""

from __future__ import annotations

import functools
import gzip
import json
import os
import random
import re
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tb_privateuse1.trace.errors import TraceError
from tests.support import invariants, make
from tests.support.repeats import LONG, repeats

COUNT = int(os.environ.get("FUZZ_TRACES", repeats(300, 12)))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
MOST_SECONDS = 10
"""For one trace of less than 100 kB, on a machine that does other things besides."""
MOST_BYTES = 500 << 20
"""What the whole run may add to the process."""

EVENTS = 60
LARGEST = 20 << 20
"""Of a real trace in ``make test``: most of the time would go into reading those above it."""
FOLDER = Path(__file__).parents[3] / "shared" / "traces"

Mutation = Callable[[random.Random, bytes], bytes]


def own() -> bytes:
    """A small trace with something of everything."""
    return json.dumps(
        make.document(
            make.step(1, 0, 100),
            make.op("aten::mm", 5, 20, id=1, **{"Input Dims": [[2, 3], []]}),
            make.launch(8, 10, 7),
            make.kernel("gemm", 12, 40, 7),
            make.kernel("ncclAllReduce", 30, 60, 8, stream=9),
            make.frame("train.py(1): f", 1, 90, **{"Python id": 1}),
            make.memory(9, 512, 1024),
            {"ph": "B", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 61},
            {"ph": "E", "pid": 1, "tid": 1, "ts": 65.5},
            {"ph": "s", "cat": "ac2g", "id": 7, "pid": 1, "tid": 1, "ts": 8},
            {"ph": "f", "cat": "ac2g", "id": 7, "pid": 0, "tid": 7, "ts": 12},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "main"}},
            baseTimeNanoseconds=10**18,
            distributedInfo={"rank": 0, "world_size": 2},
        )
    ).encode()


@functools.cache
def corpus() -> list[bytes]:
    """Short traces: our own, and the first events of real ones, compact and pretty."""
    texts = [own(), json.dumps(json.loads(own()), indent=2).encode()]
    for path in sorted(FOLDER.glob("*/*/*.pt.trace.json*"))[::3]:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        if len(data) > LARGEST and not LONG:
            continue
        content = json.loads(data)
        whole = content if isinstance(content, dict) else {"traceEvents": content}
        events = whole["traceEvents"]
        rare = [e for e in events if e.get("cat") != events[0].get("cat")]
        short = whole | {"traceEvents": events[: EVENTS // 2] + rare[: EVENTS // 2]}
        texts.append(json.dumps(short, indent=random.Random(1).choice([None, 2])).encode())
    return texts


def flip(rng: random.Random, text: bytes) -> bytes:
    data = bytearray(text)
    for _ in range(rng.choice([1, 1, 2, 20])):
        data[rng.randrange(len(data))] = rng.choice(
            [rng.randrange(256), *b'{}[]":,\\-.eE019nt \x00\xff']
        )
    return bytes(data)


def cut(rng: random.Random, text: bytes) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] if rng.random() < 0.7 else text[at:]


def splice(rng: random.Random, text: bytes) -> bytes:
    start, stop = sorted(rng.randrange(len(text)) for _ in range(2))
    stop = min(stop, start + 4000)
    at = rng.randrange(len(text))
    if rng.random() < 0.5:
        return text[:start] + text[stop:]
    return text[:at] + text[start:stop] * rng.choice([1, 1, 3]) + text[at:]


VALUES = (
    b"null", b"true", b"-1", b"0", b"1e300", b"-1e300", b"1e-300", b"9223372036854775808",
    b"18446744073709551615", b"123456789012345678901234567890", b'"x"', b'"12"', b'"1e400"', b"[]",
    b"{}", b"[[[]]]", b"NaN", b"-Infinity", b"N/A", b"0.0005", b"1663123456789012.123",
    b'"\\ud800"', b"[" * 5000 + b"]" * 5000, b'"' + b"n" * 5000 + b'"',
    b'"<script>"', b'"../../etc"', b'"\\q"',
)  # fmt: skip


def retype(rng: random.Random, text: bytes) -> bytes:
    """Other values in the fields, one or many of a kind."""
    fields = list(re.finditer(rb'("[\w ]{1,30}"\s*:\s*)("[^"\\]*"|[\d.]+|\[\])', text))
    if not fields:
        return text
    chosen = rng.choice(fields)
    many = rng.random() < 0.3
    fields = [f for f in fields if f is chosen or (many and f[1] == chosen[1])]
    parts, at = [], 0
    for field in fields:
        parts += [text[at : field.start()], field[1], rng.choice(VALUES)]
        at = field.end()
    return b"".join([*parts, text[at:]])


def pack(rng: random.Random, text: bytes) -> bytes:
    return rng.choice([flip, cut])(rng, gzip.compress(text, 1))


MUTATIONS: tuple[Mutation, ...] = (flip, cut, splice, retype, retype, pack)


@pytest.mark.long
def test_mutated_traces(tmp_path: Path) -> None:
    texts = corpus()
    path = tmp_path / "t.json"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read = 0
    for number in range(COUNT):
        rng = random.Random(SEED * 1_000_003 + number)
        data = rng.choice(texts)
        for mutate in rng.choices(MUTATIONS, k=rng.choice([1, 1, 1, 2, 3])):
            if len(data) > 1:
                data = mutate(rng, data)
        path.write_bytes(data)
        code = None
        started = time.process_time()
        try:
            raw = chrome.read(str(path))
        except TraceError as error:
            code = error.code
        else:
            read += 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    invariants.check(inference.build_trace(raw, None))
            except Exception as error:
                pytest.fail(f"trace {number} of seed {SEED}: {error!r}")
        assert code in {None, "not_json", "not_a_trace"}, number
        assert time.process_time() - started < MOST_SECONDS, number
    assert read > COUNT // 2
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10 < MOST_BYTES
