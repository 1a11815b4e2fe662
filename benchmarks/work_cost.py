"""What work models cost: ``python -m benchmarks.work_cost [--events 1300000] [--repeat 5]``.

Reading: processor time with the strides, values and counts of inputs, by that without, in one
process and in turns; the least of each. First answer: processor time of work, roofs and rates of a
trace that was just read, which the first view with rates needs. The trace is a recording with many
operators (``--trace``) repeated.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.read_traces import REAL, write
from tb_privateuse1 import inference
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.analysis.work.kernel_work import kernel_work
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers.chrome import column_builder

_OF_WORK = ("kernel_gb",)
"""Arguments of operators that only models read; with shapes, ``INPUTS`` are."""


def processor_s(work: Callable[[], Any]) -> float:
    """The processor time of a call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def reading_s(path: str, *, work: bool) -> float:
    """The processor time of reading, with or without what only models need."""
    more, arguments = dict(column_builder._MORE), column_builder._ARGUMENTS
    kept = arguments["cpu_op"]
    try:
        if not work:
            column_builder._MORE.pop("shapes")
            arguments["cpu_op"] = tuple(key for key in kept if key not in _OF_WORK)
        return processor_s(lambda: chrome.read(path))
    finally:
        column_builder._MORE.update(more)
        arguments["cpu_op"] = kept


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_300_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--trace", type=Path, default=REAL.parents[1] / "mtia" / "training")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        events = write(path, events=options.events, of=options.trace)
        pairs = [
            (reading_s(str(path), work=True), reading_s(str(path), work=False))
            for _ in range(options.repeat)
        ]
        trace = inference.build_trace(chrome.read(str(path)), None)
    whole, plain = (min(column) for column in zip(*pairs, strict=True))
    print(f"{events:,} events, {len(trace.ops):,} operators, {len(trace.kernels):,} activities")
    print(f"reading {whole:.2f} s, {plain:.2f} s without: {100 * (whole / plain - 1):.1f} % more")
    for name, compute in (
        ("work of operators", operator_work),
        ("their shares", kernel_work),
        ("roofs and rates", device_rates),
    ):
        print(f"{name}: {1000 * processor_s(lambda c=compute: c(trace)):.0f} ms")  # type: ignore[misc]


if __name__ == "__main__":
    main()
