"""How fast the device timeline is inferred: a trace repeated in time until it is large.

    python -m benchmarks.inference_speed [--only NAME] [--sizes 1e5,1e6] [--profile]

Processor time of one core per trace; only ``infer_timeline`` is measured, not reading. Beside it is
the same time in running maxima: how often ``np.maximum.accumulate`` goes over the trace's events
meanwhile. That is measured in the same process right afterwards, so that a core shared with others
changes it less.
"""

from __future__ import annotations

import argparse
import cProfile
import dataclasses
import pstats
import resource
import time

import numpy as np

from benchmarks import inference_cases
from benchmarks.inference_cases import Case
from tb_privateuse1.inference import device_timeline, host_tables, trace_metadata
from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.trace.model import Ops
from tb_privateuse1.trace.table import I64

_PAUSE_NS = 1_000_000
CASES = ("mlp_mixed", "blocks_device_nolimit", "blocks_host_primed", "v100_resnet50_workers4")


def repeated(ops: Ops, times: int) -> Ops:
    """The operators, ``times`` times behind each other, each with an id and parent of its own."""
    if times < 2:
        return ops
    n = len(ops)
    period = int(ops.end_ns.max() - ops.start_ns.min()) + _PAUSE_NS
    copy = np.repeat(np.arange(times), n)
    columns = {f.name: np.tile(getattr(ops, f.name), times) for f in dataclasses.fields(ops)}
    for name in ("start_ns", "end_ns"):
        columns[name] = columns[name] + copy * period
    columns["external_id"] = columns["external_id"] + copy * (int(ops.external_id.max()) + 1)
    columns["parent"] = np.where(columns["parent"] >= 0, columns["parent"] + copy * n, -1)
    # The table is by thread and start.
    order = np.lexsort((np.arange(n * times), columns["thread"]))
    place = np.empty(n * times, np.int64)
    place[order] = np.arange(n * times)
    columns = {name: column[order] for name, column in columns.items()}
    up: I64 = columns["parent"]
    columns["parent"] = np.where(up >= 0, place[np.maximum(up, 0)], -1).astype(np.int32)
    return Ops(**columns)


def running_maximum(events: int) -> float:
    """Seconds of the processor for one running maximum over a column."""
    column = np.arange(events)
    seconds = []
    for _ in range(5):
        began = time.process_time()
        np.maximum.accumulate(column, out=column)
        seconds.append(time.process_time() - began)
    return min(seconds)


def measure(case: Case, ops: Ops, wanted: int, profiled: bool) -> tuple[int, float]:
    """Operators and seconds of the processor."""
    ops = repeated(ops, max(round(wanted / len(ops)), 1))
    strings = Strings(case.raw.strings)
    profiler = cProfile.Profile()
    if profiled:
        profiler.enable()
    began = time.process_time()
    device_timeline.infer_timeline(device_timeline.HostRecording(ops, strings, case.sidecar))
    seconds = time.process_time() - began
    if profiled:
        profiler.disable()
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
    return len(ops), seconds


def main() -> None:
    """Print a line per trace and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", default="1e5,1e6", help="operators, with commas between")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    for case in (*inference_cases.simulated(), *inference_cases.hidden()):
        name = case.name.rpartition("/")[2]
        if options.only not in name or (not options.only and name not in CASES):
            continue
        # The tables take the events out of the raw trace.
        vendor = trace_metadata.detect_vendor(case.raw, case.sidecar)
        strings = Strings(case.raw.strings)
        once = host_tables.build_host(case.raw, case.sidecar, vendor, strings).ops
        for size in options.sizes.split(","):
            ops, seconds = measure(case, once, int(float(size)), options.profile)
            # The peak of the largest so far: sizes grow.
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            maxima = seconds / running_maximum(2 * ops)
            print(
                f"{name:28}{ops:>10} operators {seconds:8.2f} s {ops / seconds / 1e3:8.0f} k/s "
                f"{maxima:8.0f} running maxima {peak:8} MB"
            )


if __name__ == "__main__":
    main()
