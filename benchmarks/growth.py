"""How processor time and the size of each view's answer grow with the size of a recording.

``python -m benchmarks.growth [--axis NAME …] [--from 1000] [--to 100000] [--views NAME …]``

For each axis a trace of ``from`` and one of ``to`` items is made and read, and every view with its
default options is asked of both. Printed are the exponents by which the answer's bytes and the
processor seconds grow: 0 does not grow, 1 is in proportion, 2 is quadratic. Only what grows faster
than in proportion, or has a large answer, is marked. ``ranks`` are clones of one rank, and the view
``distributed`` alone is asked, packed as for the page: see ``benchmarks.many_ranks`` for files.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Sequence

from benchmarks import many_ranks
from benchmarks.stored_ranks import clone
from tb_privateuse1.analysis.ranks.collectives import reduce_trace
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


def _joined(parts: Iterable[list[Event]]) -> list[Event]:
    return [event for part in parts for event in part]


def events(n: int) -> list[Event]:
    """Return n operators, calls and kernels of 50 names in ten steps."""
    steps = [make.step(i, n * i, n * i + n - 1) for i in range(10)]
    return steps + _joined(_pair(i, 10 * i, f"aten::op{i % 50}") for i in range(n))


def threads(n: int) -> list[Event]:
    """Return an operator on each of n threads."""
    return [make.op("aten::mm", 2 * i, 2 * i + 1, thread=i + 1) for i in range(n)]


def streams(n: int) -> list[Event]:
    """Return a kernel on each of n streams."""
    return _joined(_pair(i, 10 * i, stream=i) for i in range(n))


def steps(n: int) -> list[Event]:
    """Return n steps of one operator."""
    own = [make.step(i, 12 * i, 12 * i + 11) for i in range(n)]
    return own + _joined(_pair(i, 12 * i + 1) for i in range(n))


def names(n: int) -> list[Event]:
    """Return operators and kernels of n names in ten steps."""
    marks = [make.step(i, n * i, n * i + n - 1) for i in range(10)]
    return marks + _joined(_pair(i, 10 * i, f"aten::op{i}") for i in range(n))


def counters(n: int) -> list[Event]:
    """Return n series of one counter value each, besides an operator."""
    values: list[Event] = [
        {"ph": "C", "name": f"counter {i}", "pid": 1, "ts": i, "args": {"value": i}}
        for i in range(n)
    ]
    return [*values, make.op("aten::mm", 0, n)]


def allocations(n: int) -> list[Event]:
    """Return n memory events of allocations that stay."""
    own = [make.memory(i, 512, 512 * (i + 1)) for i in range(n)]
    return [*own, make.op("aten::mm", 0, n), make.step(1, 0, n)]


AXES: dict[str, Callable[[int], list[Event]]] = {
    "events": events,
    "threads": threads,
    "streams": streams,
    "steps": steps,
    "names": names,
    "counters": counters,
    "allocations": allocations,
}


def ranks(n: int) -> tuple[Rank, ...]:
    """Return n ranks that come to their collectives at times of their own."""
    part = reduce_trace(make.trace(*many_ranks.events(0, STEPS_OF_RANKS)))
    return tuple(Rank(i, f"w{i}", clone(part, i, n)) for i in range(n))


def measure_ranks(counts: tuple[int, int]) -> None:
    """Print the row of the distributed page."""
    found = []
    for n in counts:
        made = ranks(n)
        began = time.process_time()
        size = len(encode_columns(distributed(made)) or b"")
        found.append((size, time.process_time() - began))
    print_row("ranks", "distributed", found[0], found[1], counts[1] / counts[0])


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


def measure(axis: str, counts: tuple[int, int], views: Sequence[str]) -> None:
    """Print a row for each view."""
    small, large = (make.trace(*AXES[axis](n)) for n in counts)
    times = counts[1] / counts[0]
    for view in views:
        print_row(axis, view, answered(view, small), answered(view, large), times)


def print_row(
    axis: str, view: str, first: tuple[int, float], second: tuple[int, float], times: float
) -> None:
    """Print bytes and seconds of the larger one, and the exponents of both."""
    grown = exponent(first[0], second[0], times)
    slower = exponent(max(first[1], LEAST_S), max(second[1], LEAST_S), times)
    mark = "!" if second[0] > LARGE_BYTES or slower > STEEP else ""
    print(
        f"{axis:12} {view:12} {second[0] / 1e3:10,.0f} kB ^{grown:4.2f} "
        f"{second[1]:8.2f} s ^{slower:4.2f} {mark}",
        flush=True,
    )


def main() -> None:
    """Measure the axes that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--axis", nargs="+", choices=[*AXES, "ranks"], default=[*AXES, "ranks"])
    parser.add_argument("--from", type=int, default=1_000, dest="least")
    parser.add_argument("--to", type=int, default=100_000, dest="most")
    parser.add_argument("--views", nargs="+", choices=list(VIEWS), default=list(VIEWS))
    options = parser.parse_args()
    for axis in options.axis:
        if axis == "ranks":
            measure_ranks((options.least, options.most))
        else:
            measure(axis, (options.least, options.most), options.views)


if __name__ == "__main__":
    main()
