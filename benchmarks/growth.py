"""How processor time and the size of each view's answer grow with the size of a recording.

``python -m benchmarks.growth [--axis NAME …] [--from 1000] [--to 100000] [--views NAME …]``
``    [--seconds 120]``

For each axis a trace of ``from`` and one of ``to`` items is made and read once, event by event,
and every view with its default options is asked of both. Printed are the exponents by which the
answer's bytes and the processor seconds grow: 0 does not grow, 1 is in proportion, 2 is quadratic.
Only what grows faster than in proportion, or has a large answer, is marked. Each view runs in a
process of its own, whose highest resident memory is printed, too; after ``--seconds`` of the
processor it ends. ``ranks`` are clones of one rank, and the view ``distributed`` alone is asked,
packed as for the page: see ``benchmarks.many_ranks`` for files.
"""

from __future__ import annotations

import argparse
import gc
import math
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks import many_ranks
from benchmarks.stored_ranks import clone
from tb_privateuse1 import inference
from tb_privateuse1.analysis.ranks.collectives import reduce_trace
from tb_privateuse1.readers.chrome import CHROME
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.distributed import distributed
from tb_privateuse1.views.encoding import encode, encode_columns
from tb_privateuse1.views.reduced_traces import Rank
from tests.support import make
from tests.support.results import result

LARGE_BYTES = 2_000_000
"""An answer of the larger trace above this is marked."""
STEEP = 1.2
"""So is an exponent above this: sorting is below."""
STEPS_OF_RANKS = 5
LEAST_S = 0.02
"""Seconds below this say nothing."""

Event = make.Event


def _pair(i: int, at: int, name: str = "aten::mm", stream: int = 7) -> list[Event]:
    """Return an operator with its launch and kernel, times in us."""
    return [
        make.op(name, at, at + 8, id=i),
        make.launch(at + 1, at + 3, i + 1),
        make.kernel(f"k_{name}", at + 4, at + 9, i + 1, stream=stream),
    ]


def events(n: int) -> Iterator[Event]:
    """Yield n operators, calls and kernels of 50 names in ten steps."""
    for i in range(10):
        yield make.step(i, n * i, n * i + n - 1)
    for i in range(n):
        yield from _pair(i, 10 * i, f"aten::op{i % 50}")


def threads(n: int) -> Iterator[Event]:
    """Yield an operator on each of n threads."""
    for i in range(n):
        yield make.op("aten::mm", 2 * i, 2 * i + 1, thread=i + 1)


def streams(n: int) -> Iterator[Event]:
    """Yield a kernel on each of n streams."""
    for i in range(n):
        yield from _pair(i, 10 * i, stream=i)


def steps(n: int) -> Iterator[Event]:
    """Yield n steps of one operator."""
    for i in range(n):
        yield make.step(i, 12 * i, 12 * i + 11)
        yield from _pair(i, 12 * i + 1)


def names(n: int) -> Iterator[Event]:
    """Yield operators and kernels of n names in ten steps."""
    for i in range(10):
        yield make.step(i, n * i, n * i + n - 1)
    for i in range(n):
        yield from _pair(i, 10 * i, f"aten::op{i}")


def counters(n: int) -> Iterator[Event]:
    """Yield n series of one counter value each, besides an operator."""
    for i in range(n):
        yield {"ph": "C", "name": f"counter {i}", "pid": 1, "ts": i, "args": {"value": i}}
    yield make.op("aten::mm", 0, n)


def allocations(n: int) -> Iterator[Event]:
    """Yield n memory events of allocations that stay."""
    for i in range(n):
        yield make.memory(i, 512, 512 * (i + 1))
    yield make.op("aten::mm", 0, n)
    yield make.step(1, 0, n)


AXES: dict[str, Callable[[int], Iterator[Event]]] = {
    "events": events,
    "threads": threads,
    "streams": streams,
    "steps": steps,
    "names": names,
    "counters": counters,
    "allocations": allocations,
}


def made(axis: str, n: int) -> Trace:
    """Return the trace of an axis: its events are written one by one, as all need gigabytes."""
    encode_event = msgspec.json.Encoder().encode
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "worker.1.pt.trace.json")
        with path.open("wb") as file:
            file.write(b'{"schemaVersion": 1, "traceEvents": [')
            for number, event in enumerate(AXES[axis](n)):
                file.write((b",\n" if number else b"") + encode_event(event))
            file.write(b"]}")
        raw = CHROME.read(str(path), None)
        return inference.build_trace(raw, None, worker="worker", files=(path.name,))


def ranks(n: int) -> tuple[Rank, ...]:
    """Return n ranks that come to their collectives at times of their own."""
    part = reduce_trace(make.trace(*many_ranks.events(0, STEPS_OF_RANKS)))
    return tuple(Rank(i, f"w{i}", clone(part, i, n)) for i in range(n))


def answered(view: str, trace: Trace) -> tuple[int, float]:
    """Return the bytes of a view's answer as JSON, and the seconds of the processor."""
    began = time.process_time()
    try:
        size = len(encode(result(VIEWS[view], trace)))
    except TraceError:
        size = 0
    return size, time.process_time() - began


def exponent(small: float, large: float, times: float) -> float:
    """Return by which power of the number of items a figure grows."""
    return math.log(large / small) / math.log(times) if small > 0 and large > 0 else 0.0


class Figures(NamedTuple):
    """What a child process found."""

    size_bytes: int
    cpu_s: float
    highest_mb: int


def apart(work: Callable[[], tuple[int, float]], limit_s: int) -> Figures | None:
    """Return what work takes in a child process; None: it took longer than the limit."""

    def run(end: Connection) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
        size, used_s = work()
        end.send(Figures(size, used_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10))

    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=run, args=(theirs,))
    child.start()
    theirs.close()
    try:
        found: Figures = ours.recv()
        return found
    except EOFError:
        return None
    finally:
        child.join()


def answered_ranks(made: tuple[Rank, ...]) -> tuple[int, float]:
    """Return the bytes of the distributed page's answer, packed, and the seconds."""
    began = time.process_time()
    size = len(encode_columns(distributed(made)) or b"")
    return size, time.process_time() - began


def measure(axis: str, counts: tuple[int, int], views: Sequence[str], limit_s: int) -> None:
    """Print a row for each view."""
    works: list[tuple[str, list[Callable[[], tuple[int, float]]]]]
    if axis == "ranks":
        works = [("distributed", [partial(answered_ranks, ranks(n)) for n in counts])]
    else:
        least = made(axis, 2)
        for view in views:
            answered(view, least)  # imports
        began = time.process_time()
        traces = [made(axis, n) for n in counts]
        gc.freeze()  # a collection in a child would copy all pages
        print(f"{axis}: made and read in {time.process_time() - began:.0f} s", flush=True)
        works = [(view, [partial(answered, view, trace) for trace in traces]) for view in views]
    for view, both in works:
        print_row(axis, view, [apart(work, limit_s) for work in both], counts[1] / counts[0])


def print_row(axis: str, view: str, found: Sequence[Figures | None], times: float) -> None:
    """Print bytes, seconds and memory of the larger one, and the exponents of the first two."""
    first, second = found
    if first is None or second is None:
        print(f"{axis:12} {view:12} longer than the limit !", flush=True)
        return
    grown = exponent(first.size_bytes, second.size_bytes, times)
    slower = exponent(max(first.cpu_s, LEAST_S), max(second.cpu_s, LEAST_S), times)
    mark = "!" if second.size_bytes > LARGE_BYTES or slower > STEEP else ""
    print(
        f"{axis:12} {view:12} {second.size_bytes / 1e3:10,.0f} kB ^{grown:4.2f} "
        f"{second.cpu_s:8.2f} s ^{slower:4.2f} {second.highest_mb:6,} MB {mark}",
        flush=True,
    )


def main() -> None:
    """Measure the axes that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--axis", nargs="+", choices=[*AXES, "ranks"], default=[*AXES, "ranks"])
    parser.add_argument("--from", type=int, default=1_000, dest="least")
    parser.add_argument("--to", type=int, default=100_000, dest="most")
    parser.add_argument("--views", nargs="+", choices=list(VIEWS), default=list(VIEWS))
    parser.add_argument("--seconds", type=int, default=120)
    options = parser.parse_args()
    for axis in options.axis:
        measure(axis, (options.least, options.most), options.views, options.seconds)


if __name__ == "__main__":
    main()
