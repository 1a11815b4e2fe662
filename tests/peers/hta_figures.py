"""Compute HolisticTraceAnalysis's figures of the shared traces, for tests/peers/test_hta.py.

In an environment of its own, as it needs much that nothing here does:

    pip install HolisticTraceAnalysis==0.5.0 psutil
    python tests/peers/hta_figures.py ../shared/traces > tests/traces/hta.json

It cuts times off to whole microseconds, so that it is given each trace a thousand times as slow:
its microseconds are our nanoseconds.
"""

from __future__ import annotations

import gzip
import importlib
import json
import logging
import sys
import tempfile
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

TRACES = (
    "cuda/nccl_ddp", "cuda/ns_resolution", "cuda/h100_bert",
    "cuda/v100_resnet50_workers0", "cuda/v100_resnet50_workers4",
)  # fmt: skip


def figures(path: Path, folder: Path) -> dict[str, Any]:
    """Its breakdowns of one trace, times in ns."""
    document = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)
    events = document["traceEvents"]
    first = min(Decimal(event["ts"]) for event in events if event.get("ph") == "X")
    for event in events:
        if "ts" in event:
            event["ts"] = round((Decimal(event["ts"]) - first) * 1000)
        if "dur" in event:
            event["dur"] = round(Decimal(event["dur"]) * 1000)
    document["distributedInfo"] = {"rank": 0}  # it reads no trace without
    copy = folder / f"{path.parent.name}.json.gz"
    copy.write_bytes(gzip.compress(json.dumps(document, default=float).encode(), 1))
    hta = importlib.import_module("hta.trace_analysis")
    analysis = hta.TraceAnalysis(
        trace_files={0: str(copy)}, trace_dir=str(folder), include_last_profiler_step=True
    )
    (whole,) = analysis.get_temporal_breakdown(visualize=False).to_dict("records")
    (overlap,) = analysis.get_comm_comp_overlap(visualize=False).to_dict("records")
    kinds, kernels = analysis.get_gpu_kernel_breakdown(
        visualize=False, num_kernels=10_000, duration_ratio=1.0, include_memory_kernels=True
    )
    launches = analysis.get_cuda_kernel_launch_stats(visualize=False, ranks=[0])[0]
    share = overlap["comp_comm_overlap_pctg"]
    return {
        "span": round(whole["kernel_time(us)"]),
        "idle": round(whole["idle_time(us)"]),
        "compute": round(whole["compute_time(us)"]),
        "not_compute": round(whole["non_compute_time(us)"]),
        "overlap_percent": None if share != share else share,
        "exclusive": {row["kernel_type"]: row["sum"] for row in kinds.to_dict("records")},
        "names": sorted(
            [round(row[f"{key} (us)"]) for key in ("sum", "max", "min")]
            for row in kernels.to_dict("records")
        ),
        "launches": {
            "calls": len(launches),
            "host": round(launches["cpu_duration"].sum()),
            "device": round(launches["gpu_duration"].sum()),
            "delay": round(launches["launch_delay"].sum()),
        },
    }


def main(root: Path) -> None:
    """Print the figures of all."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        told = {}
        for name in TRACES:
            (path,) = (root / name).glob("*.pt.trace.json.gz")
            told[name] = figures(path, Path(folder))
    lines = (f" {json.dumps(name)}: {json.dumps(told[name])}" for name in TRACES)
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
