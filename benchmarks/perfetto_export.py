"""How fast a trace is exported for Perfetto, and how large the files are.

``python -m benchmarks.perfetto_export [--events 1e6] [--repeat 5] [--json FILE]``

A real trace repeated (see ``read_traces``), read beforehand. ``export`` writes all packets and
throws them away; events are those exported: ranges, device activities, and counters' changes.
Seconds of processor time, the least of the repetitions, at least 500,000 events a second.
Sizes beside the trace file, plain and packed with ``gzip -6``; the memory that the export adds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import tempfile
import time
from pathlib import Path

from benchmarks.read_traces import write
from tb_privateuse1.analysis.counters import counters
from tb_privateuse1.discovery import catalog
from tb_privateuse1.export import perfetto
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.model import Trace

LEAST_EVENTS_PER_S = 500_000


def seconds(trace: Trace) -> float:
    """Of the processor, for one export."""
    began = time.process_time()
    for _ in perfetto.write(trace):
        pass
    return time.process_time() - began


def packed(parts: list[bytes]) -> int:
    """Bytes after ``gzip -6``."""
    return len(gzip.compress(b"".join(parts), 6))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--events", type=float, default=1e6)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write all figures there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "worker.1.pt.trace.json")
        write(path, events=int(options.events))
        trace = Store(jobs=0).trace(catalog.scan(folder, READERS).find())
        told = [
            c.changes(0, None) or c.parts(0, trace.end_ns) for c in counters.build_curves(trace)
        ]
        changes = sum(len(at) for at, _ in told)
        ranges = sum(map(len, (trace.ops, trace.frames, trace.launches)))
        exported = ranges + len(trace.kernels) + changes
        before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        best = min(seconds(trace) for _ in range(options.repeat))
        added_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
        parts = list(perfetto.write(trace))
        recorded = path.read_bytes()
        figures = {
            "events": exported,
            "seconds": best,
            "events_per_s": exported / best,
            "added_memory_mb": added_kb / 1000,
            "recorded_mb": len(recorded) / 1e6,
            "exported_mb": sum(map(len, parts)) / 1e6,
            "recorded_gz_mb": len(gzip.compress(recorded, 6)) / 1e6,
            "exported_gz_mb": packed(parts) / 1e6,
        }
    print("| what | |\n|---|---|")
    for name, value in figures.items():
        print(f"| {name} | {value:,.3f} |" if value < 100 else f"| {name} | {value:,.0f} |")
    print(f"| plain, times smaller | {figures['recorded_mb'] / figures['exported_mb']:.1f} |")
    print(
        f"| packed, times smaller | {figures['recorded_gz_mb'] / figures['exported_gz_mb']:.1f} |"
    )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    if figures["events_per_s"] < LEAST_EVENTS_PER_S:
        raise SystemExit(f"fewer than {LEAST_EVENTS_PER_S:,} events per second")


if __name__ == "__main__":
    main()
