"""What the stages of ``inference/validity`` cost of reading recordings.

``python -m benchmarks.validity_cost [--repeat 3] [--json FILE] [FOLDER ...]``

Each recording below the folders (by default the shared ones) is read in this process, from the file
to the trace. CPU seconds within each stage and in all, of each the least of the repetitions: one
run has both, so that other work on the machine changes both alike.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.read_traces import ROOT
from tb_privateuse1 import inference
from tb_privateuse1.inference.validity import (
    completeness,
    concurrent_steps,
    device_clock,
    far_times,
    host_ends,
    impossible_steps,
    lost_calls,
    stream_order,
    unread,
    zero_times,
)
from tb_privateuse1.readers import chrome
from tb_privateuse1.trace.errors import TraceError

SHARED = ROOT.parent / "shared"
FOLDERS = (SHARED / "traces", SHARED / "more")
PATTERNS = ("*.pt.trace.json*", "trace_view.json")
STAGES: tuple[tuple[ModuleType, str], ...] = (
    (zero_times, "leave_out"),
    (far_times, "leave_out"),
    (impossible_steps, "leave_out"),
    (host_ends, "cut"),
    (concurrent_steps, "leave_out"),
    (device_clock, "align"),
    (stream_order, "cut"),
    (completeness, "mark"),
    (lost_calls, "findings"),
    (unread, "unread_findings"),
)

Seconds = defaultdict[str, float]


def timed(stage: str, work: Callable[..., Any], spent: Seconds) -> Callable[..., Any]:
    """Return the function, which adds its CPU seconds to those of its stage."""

    def run(*args: Any, **options: Any) -> Any:
        begin = time.process_time()
        try:
            found = work(*args, **options)
            return list(found) if stage == "unread" else found
        finally:
            spent[stage] += time.process_time() - begin

    return run


def watch(spent: Seconds) -> None:
    """Let each stage count its CPU seconds."""
    for module, name in STAGES:
        stage = module.__name__.rpartition(".")[2]
        work = getattr(module, name)
        counted = timed(stage, work, spent)
        for other in list(sys.modules.values()):
            if getattr(other, name, None) is work:
                setattr(other, name, counted)


def once(path: Path, spent: Seconds) -> dict[str, float]:
    """Return the CPU seconds of one reading, by stage and ``all``."""
    spent.clear()
    begin = time.process_time()
    inference.build_trace(chrome.read(str(path)), None, use_up=True)
    return {**spent, "all": time.process_time() - begin}


def main() -> int:
    """Read all recordings, and print what the stages take."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=FOLDERS)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    paths = sorted(p for f in asked.folders for pattern in PATTERNS for p in f.rglob(pattern))
    spent: Seconds = defaultdict(float)
    watch(spent)
    total: Seconds = defaultdict(float)
    most, read = 0.0, 0
    for path in paths:
        try:
            runs = [once(path, spent) for _ in range(asked.repeat)]
        except TraceError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            continue
        least = {key: min(run.get(key, 0.0) for run in runs) for key in runs[0]}
        for key, seconds in least.items():
            total[key] += seconds
        own = sum(least.values()) - least["all"]
        most, read = max(most, own / (least["all"] - own)), read + 1
    stages = {key: total[key] for key in sorted(total, key=lambda k: -total[k]) if key != "all"}
    own = sum(stages.values())
    added = own / (total["all"] - own) if own else 0.0
    for stage, seconds in stages.items():
        print(f"{stage:20} {seconds:8.3f} s")
    print(f"{read} recordings, {total['all']:.2f} s of CPU, {own:.3f} s of it validity:")
    print(f"{added:.1%} more than without it, of a single recording up to {most:.1%}")
    if asked.json:
        asked.json.write_text(json.dumps({"stages_s": stages, "all_s": total["all"]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
