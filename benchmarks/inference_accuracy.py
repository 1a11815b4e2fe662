"""Accuracy of the inferred device timeline against known truth, beside the published recipe.

    python -m benchmarks.inference_accuracy [--recipe-sidecar] [--only NAME] [--markdown]
    python -m benchmarks.inference_accuracy --folder FOLDER [--elapsed-only]

Per trace and method: kernels missed and spurious, start and duration error (median, p95, us),
busy-time ratio, overlap of busy time, share of the truth inside the stated bounds, and the
inference's own time per thousand operators.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import inference_cases
from benchmarks.inference_cases import Case
from benchmarks.inference_metrics import Score, Timeline, score
from benchmarks.inference_recipe import recipe
from tb_privateuse1.trace.model import Trace

COLUMNS = (
    "trace", "method", "ops", "kernels", "missed", "spurious", "start med", "start p95",
    "dur med", "dur p95", "busy", "IoU", "start in", "dur in", "start ±", "dur ±", "ms/kop",
)  # fmt: skip


def ours(trace: Trace, shift: int) -> Timeline:
    """The trace's kernels on the file's clock."""
    kernels = trace.kernels
    ids = trace.ops.external_id[kernels.op]
    return Timeline(
        ids, kernels.start_ns + shift, kernels.end_ns + shift,
        kernels.start_bound_ns, kernels.duration_bound_ns,
    )  # fmt: skip


def rows(case: Case) -> list[list[str]]:
    """The table's rows of one trace."""
    began = time.perf_counter()
    trace = case.trace()
    milliseconds = (time.perf_counter() - began) * 1e3 / max(len(trace.ops), 1) * 1e3
    shift = trace.base_ns - case.raw.base_ns
    found = []
    if not len(trace.kernels):
        code = next((f.code for f in trace.meta.findings if f.code.startswith("elapsed")), "none")
        found.append([case.name, f"refused: {code}", str(len(trace.ops))])
    else:
        judged = score(ours(trace, shift), case.truth)
        found.append(row(case.name, "ours", len(trace.ops), judged, f"{milliseconds:.1f}"))
    for threshold in (100, 0):
        theirs = recipe(trace, threshold)
        theirs = replace(theirs, start_ns=theirs.start_ns + shift, end_ns=theirs.end_ns + shift)
        judged = score(theirs, case.truth)
        found.append(row(case.name, f"recipe {threshold}", len(trace.ops), judged, ""))
    return found


def row(name: str, method: str, ops: int, s: Score, speed: str) -> list[str]:
    """A row of the table."""

    def number(value: float, digits: int = 1) -> str:
        return "" if np.isnan(value) else f"{value:.{digits}f}"

    return [
        name, method, str(ops), str(s.kernels), str(s.missed), str(s.spurious),
        number(s.start_median), number(s.start_p95), number(s.duration_median),
        number(s.duration_p95), number(s.busy_ratio, 2), number(s.overlap, 2),
        number(s.start_inside, 3), number(s.duration_inside, 3), number(s.start_bound),
        number(s.duration_bound), speed,
    ]  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipe-sidecar", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", type=Path, help="recordings of benchmarks.inference_regimes")
    parser.add_argument("--ours", action="store_true", help="leave the recipe out")
    parser.add_argument("--elapsed-only", action="store_true", help="leave event times out")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    if options.folder:
        cases = [*inference_cases.simulated(options.folder)]
    else:
        cases = [*inference_cases.simulated(recipe=options.recipe_sidecar)]
    if not options.folder and not options.recipe_sidecar:
        cases += inference_cases.hidden()
    table = [list(COLUMNS)]
    if options.elapsed_only:
        cases = [case.without_event_times() for case in cases]
    for case in cases:
        if options.only in case.name:
            table += rows(case)[: 1 if options.ours else 3]
    if options.markdown:
        table.insert(1, ["---"] * len(COLUMNS))
        for cells in table:
            print("| " + " | ".join(cells + [""] * (len(COLUMNS) - len(cells))) + " |")
        return
    widths = [max(len(r[k]) for r in table if k < len(r)) for k in range(len(COLUMNS))]
    for cells in table:
        print("  ".join(c.ljust(w) for c, w in zip(cells, widths, strict=False)).rstrip())


if __name__ == "__main__":
    main()
