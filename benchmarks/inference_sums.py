"""Busy time of inferred timelines against the truth, with both bounds of sums, by set.

    python -m benchmarks.inference_sums [--folder FOLDER ...] [--recordings]

Sets are the simulated recordings, the real traces with hidden kernels, and each folder of
``benchmarks.inference_regimes``. A third of the recordings, by a hash of their names, was kept
aside while the bounds were made. The second table is about how errors depend on each other: errors
of durations as shares of their bounds, by class: the root mean square of calls and of equal work
(median over recordings), and the sum over a recording (median and 95th percentile).
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import inference_cases
from benchmarks.inference_cases import FOLDER, Case
from tb_privateuse1.trace import intervals, sum_bounds, uncertainty
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import EVIDENCE, Kernels, Trace
from tb_privateuse1.trace.table import I64, Bools

UNFAIR = ("two_ranks_of_128", "mi300_resnet_ddp", "old_torch")
"""Real traces most of whose kernels have no launch, or waited for streams that are not recorded."""


@dataclass(frozen=True)
class Sum:
    """Busy time of a recording; error and bounds are shares of the true one."""

    name: str
    lanes: int
    error: float
    statistical: float
    worst: float
    shown: float

    @property
    def inside(self) -> bool:
        """Whether the truth is inside the bound that is shown."""
        return abs(self.error) <= self.shown

    @property
    def aside(self) -> bool:
        """Whether it was kept aside."""
        return int(hashlib.md5(self.name.encode()).hexdigest(), 16) % 3 == 0


def judge(case: Case, trace: Trace) -> Sum:
    """Return the busy time of a recording beside the truth."""
    kernels, truth = trace.kernels, case.truth
    found = intervals.length(uncertainty.busy(kernels))
    true = intervals.length(intervals.union(truth.start_ns, truth.end_ns))
    both = sum_bounds.sum_bound(kernels.duration_bound_ns, kernels.error_group)
    shown = uncertainty.union_bound(kernels)
    assert both is not None
    assert shown is not None
    lanes = len(np.unique(kernels.lane))
    return Sum(
        case.name, lanes, (found - true) / true,
        both.statistical_ns / true, both.worst_ns / true, shown / true,
    )  # fmt: skip


def errors(case: Case, trace: Trace) -> tuple[I64, Bools]:
    """Return the error of each duration, and which errors are known.

    Kernels of one operator share its error.
    """
    kernels = trace.kernels
    own = trace.ops.external_id[kernels.op]
    ids, row, count = np.unique(own, return_inverse=True, return_counts=True)
    total = np.zeros(len(ids), np.int64)
    np.add.at(total, row, kernels.end_ns - kernels.start_ns)
    at = np.searchsorted(ids, case.truth.external_id)
    there = (at < len(ids)) & (ids[np.minimum(at, len(ids) - 1)] == case.truth.external_id)
    true, known = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
    np.add.at(true, at[there], (case.truth.end_ns - case.truth.start_ns)[there])
    known[at[there]] = True
    return ((total - true) // count)[row], known[row]


def shares(kernels: Kernels, error: I64) -> tuple[float, float, float]:
    """Return errors as shares of the bounds: of calls (root mean square), of equal work, of all."""
    bound = np.maximum(kernels.duration_bound_ns, 1)
    first, group = group_rows(kernels.error_group)
    whole, off = np.zeros((2, len(first)), np.int64)
    np.add.at(whole, group, bound)
    np.add.at(off, group, error)
    many = np.bincount(group) >= 4
    of_work = _root_mean_square((off / whole)[many]) if many.any() else np.nan
    return _root_mean_square(error / bound), of_work, float(error.sum() / bound.sum())


def _root_mean_square(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    return float(np.sqrt((values**2).mean()))


def sets(folders: list[Path]) -> Iterator[tuple[str, Iterator[Case]]]:
    """Yield the sets by name."""
    for name in ("privateuse1", "privateuse1_more"):
        yield name, inference_cases.simulated(FOLDER / name)
    for folder in folders:
        yield folder.name, inference_cases.simulated(folder)
    yield "real, hidden", inference_cases.hidden()


def summary(name: str, part: str, rows: list[Sum]) -> str:
    """Return a row of the table of sets."""
    median = {
        key: 100 * float(np.median([abs(getattr(r, key)) for r in rows]))
        for key in ("error", "statistical", "worst", "shown")
    }
    inside = sum(r.inside for r in rows)
    ratio = median["shown"] / median["error"]
    cells = [name, part, *(f"{n:.2f}" for n in median.values()), f"{ratio:.1f}"]
    return "| " + " | ".join([*cells, f"{inside} of {len(rows)}"]) + " |"


def print_set(name: str, rows: list[Sum], *, recordings: bool) -> None:
    """Print the rows of a set: of its recordings, if wanted, and of its parts."""
    for r in rows if recordings else ():
        numbers = [f"{100 * n:.2f}" for n in (r.error, r.statistical, r.worst, r.shown)]
        part = "kept aside" if r.aside else "developed"
        print("| " + " | ".join([r.name, part, *numbers, "", str(r.inside)]) + " |")
    parts = {
        "developed": [r for r in rows if not r.aside],
        "kept aside": [r for r in rows if r.aside],
        "one stream": [r for r in rows if r.lanes == 1],
        "all": rows,
    }
    for part, chosen in parts.items():
        if chosen:
            print(summary(name, part, chosen))


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, nargs="*", default=[])
    parser.add_argument("--recordings", action="store_true", help="a row for each, too")
    options = parser.parse_args()
    found: dict[str, list[Sum]] = {}
    of_class: dict[int, list[tuple[float, float, float]]] = {}
    for name, cases in sets(options.folder):
        for case in cases:
            trace = case.trace()
            if not len(trace.kernels):
                continue
            unfair = any(text in case.name for text in UNFAIR)
            found.setdefault(f"{name}, unfair" if unfair else name, []).append(judge(case, trace))
            error, known = errors(case, trace)
            for evidence in () if unfair else np.unique(trace.kernels.evidence).tolist():
                some = known & (trace.kernels.evidence == evidence)
                if some.sum() >= 8:
                    row = shares(trace.kernels.take(some), error[some])
                    of_class.setdefault(evidence, []).append(row)
    for name, rows in found.items():
        print_set(name, rows, recordings=options.recordings)
    for evidence, of_recordings in sorted(of_class.items()):
        calls, work, whole = np.array(of_recordings).T
        off = np.percentile(np.abs(whole), (50, 95)).tolist()
        cells = (float(np.median(calls)), float(np.nanmedian(work)), *off)
        numbers = " | ".join(f"{n:.2f}" for n in cells)
        print(f"| {EVIDENCE[evidence]} | {len(of_recordings)} | {numbers} |")


if __name__ == "__main__":
    main()
