"""The utilization that the overview states of inferred timelines, beside the true one.

    python -m benchmarks.inference_utilization FOLDER ...

Folders are those of ``benchmarks.inference_regimes``. Per recording: the stated share and its
interval from elapsed times alone, the same with event times, and the device's own log. Last, in how
many recordings the interval is at most 5 points to either side, holds the truth, and the estimate
is within 5 points of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import inference_cases
from benchmarks.inference_cases import Case
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.overview import overview

POINTS, ROUNDED = 0.05, 0.002
"""Five points; and what the clock's tick and the events at a window's edges may move."""

Stated = tuple[float, float, float]


def stated(trace: Trace) -> Stated | None:
    """The share of the judged time, and its interval; None if there is no timeline or interval."""
    if not len(trace.kernels):
        return None
    shown = overview(trace)
    if shown.utilization is None or shown.utilization_low is None or shown.utilization_high is None:
        return None
    return shown.utilization, shown.utilization_low, shown.utilization_high


def true_share(case: Case, trace: Trace) -> float:
    """The device's own busy time in the same time, as a share."""
    shift = trace.base_ns - case.raw.base_ns
    time = Window(trace, "steady").time
    busy = intervals.union(case.truth.start_ns - shift, case.truth.end_ns - shift)
    return intervals.length(intervals.intersect(busy, time)) / max(intervals.length(time), 1)


def judge(found: Stated | None, truth: float) -> tuple[bool, bool, bool]:
    """Whether the interval is tight, holds the truth, and the estimate is near it."""
    if found is None:
        return False, False, False
    share, low, high = found
    held = low - ROUNDED <= truth <= high + ROUNDED
    return high - low <= 2 * POINTS, held, abs(share - truth) <= POINTS


def main() -> None:
    """Print a row for each recording, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="+", type=Path)
    counts = {"elapsed times": [0, 0, 0], "event times": [0, 0, 0]}
    total = 0
    print("| recording | elapsed times | event times | true |\n| --- | --- | --- | --- |")
    for folder in parser.parse_args().folder:
        for case in inference_cases.simulated(folder):
            total += 1
            cells, truth = [], 0.0
            for name, one in zip(counts, (case.without_event_times(), case), strict=True):
                trace = one.trace()
                found, truth = stated(trace), true_share(one, trace)
                for i, good in enumerate(judge(found, truth)):
                    counts[name][i] += good
                cells.append(
                    "none" if found is None else "{:.3f} ({:.3f} to {:.3f})".format(*found)
                )
            print("|", " | ".join((case.name, *cells, f"{truth:.3f}")), "|")
    for name, (tight, held, near) in counts.items():
        print(f"{name}: {tight} tight, {held} hold the truth, {near} near it, of {total}")


if __name__ == "__main__":
    main()
