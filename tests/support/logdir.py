"""A small logdir with every kind of run, made of events of known times.

``mlp``: inferred device times, two spans of one worker; ``ddp``: two ranks, measured, with a
function and modules;
``host``: a trace without device times, with a counter; ``unreadable``: a trace that is cut off.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.support.make import Event, document, frame, kernel, launch, memory, op, sidecar, step

STEPS = 3
OPERATORS_PER_STEP = 8
HOST_SELF_NS = STEPS * OPERATORS_PER_STEP * 50_000
"""Of ``mlp``'s latest span: each operator takes 50 us on the host."""
KERNELS = STEPS * OPERATORS_PER_STEP
"""Of each rank of ``ddp``."""
KERNEL_NS = 30_000


def write(folder: Path) -> Path:
    """Fill a folder; returns it."""
    for span in (1, 2):
        events, elapsed = _inferred(steps=STEPS if span == 2 else 1)
        stem = folder / "mlp" / f"worker0.{1_700_000_000_000 + span}"
        _write(stem.with_name(stem.name + ".pt.trace.json.gz"), document(*events))
        _write(stem.with_name(stem.name + ".kernel_event.json.gz"), sidecar(elapsed))
    for rank in (0, 1):
        info = {"rank": rank, "world_size": 2, "backend": "nccl"}
        trace = document(*_measured(), distributedInfo=info)
        _write(folder / "ddp" / f"host_{rank}.1700000000000.pt.trace.json", trace)
    host = [op("aten::mm", 100 * i, 100 * i + 50) for i in range(10)]
    clock: Event = {"ph": "C", "name": "Clock", "pid": "CPU"}
    host += [{**clock, "ts": 250 * i, "args": {"MHz": 2000 + i}} for i in range(4)]
    _write(folder / "host" / "cpu.1700000000000.pt.trace.json", document(*host))
    cut = folder / "unreadable" / "cut.1700000000000.pt.trace.json"
    cut.parent.mkdir()
    cut.write_text('{"schemaVersion": 1, "traceEvents": [{"ph": "X", "ts": ')
    return folder


def _inferred(steps: int) -> tuple[list[Event], dict[int, float | None]]:
    events: list[Event] = []
    elapsed: dict[int, float | None] = {}
    for number in range(steps):
        begin = 1000 * number
        events.append(step(number + 10, begin, begin + 1000))
        for i in range(OPERATORS_PER_STEP):
            start, id = begin + 100 * i + 50, number * OPERATORS_PER_STEP + i + 1
            name = ("aten::mm", "aten::relu", "aten::add")[i % 3]
            shapes = {"Input Dims": [[8, 2**i], [2**i, 4]]}
            events.append(op(name, start, start + 50, id=id, **shapes))
            elapsed[id] = 80.0
        events.append(memory(begin + 10, 4096, 4096 * (number + 1)))
    return events, elapsed


def _measured() -> list[Event]:
    events: list[Event] = []
    for number in range(STEPS):
        begin = 1000 * number
        events += [
            step(number, begin, begin + 1000),
            frame("nn.Module: Net_0", begin + 40, begin + 760),
            frame("nn.Module: Linear_0", begin + 45, begin + 405),
            frame("nn.Module: Linear_1", begin + 445, begin + 705),
            frame("train.py(12): log", begin + 980, begin + 990),
        ]
        for i in range(OPERATORS_PER_STEP):
            start, correlation = begin + 100 * i + 50, number * OPERATORS_PER_STEP + i + 1
            name = "ncclDevKernel_AllReduce" if i == 7 else f"gemm_{i % 2}"
            events += [
                op("aten::mm", start, start + 50, id=correlation),
                launch(start + 10, start + 20, correlation),
                kernel(name, start + 40, start + 40 + KERNEL_NS / 1000, correlation),
            ]
    return events


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(content).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
