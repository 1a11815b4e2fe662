"""Good recordings: random programs, and the small ones of ``shared`` if they are here."""

from __future__ import annotations

import functools
import gzip
import json
import random
from typing import Any

from tests.support.make import Event
from tests.support.program import Program
from tests.support.shared_traces import TRACES

_LARGEST_BYTES = 130_000
_KINDS = ("/cuda/", "/rocm/")


def program(rng: random.Random) -> list[Event]:
    """Return the events of a random program: its steps do the same, on up to two streams."""
    run = Program()
    work = [
        (rng.choice(("aten::mm", "aten::add", "aten::relu")), rng.choice((5, 20, 80)), number)
        for number in range(rng.randint(3, 10))
    ]
    length = rng.choice((5, 30, 200))
    talks, copies = rng.random() < 0.3, rng.random() < 0.4
    wait = rng.choice(("each", "copy", "never"))
    streams = rng.choice((1, 1, 2))
    for _ in range(rng.randint(3, 6)):
        with run.step():
            if copies:
                run.copy("HtoD", 20, blocking=rng.random() < 0.5)
            for name, host, number in work:
                with run.around(name, host, id=len(run.events) + 1):
                    stream = 7 + (number % streams) * 13
                    run.launch(f"{name[6:]}_kernel", length + number, stream=stream)
            if talks:
                with run.around("nccl:all_reduce", 5, id=len(run.events) + 1):
                    run.launch("ncclDevKernel_AllReduce_Sum", 2 * length, stream=20)
            if wait == "each":
                run.wait()
            elif wait == "copy":
                run.copy("DtoH", 5)
        run.rest(rng.choice((0, 30)))
    run.wait("cudaDeviceSynchronize")
    start = 5_000_000  # no clock of a profiler begins with the recording
    return [event | {"ts": event["ts"] + start} for event in run.events]


@functools.cache
def shared() -> tuple[tuple[str, str], ...]:
    """Return the names and the documents of the small recordings with measured device times."""
    found = []
    for path in TRACES:
        is_small = path.stat().st_size < _LARGEST_BYTES
        if is_small and any(kind in str(path) for kind in _KINDS):
            data = path.read_bytes()
            text = gzip.decompress(data) if path.suffix == ".gz" else data
            found.append((path.parent.name, text.decode()))
    return tuple(found)


def shared_recording(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """Return the name and the document of one of them."""
    name, text = rng.choice(shared())
    return name, json.loads(text)
