"""How much operator device time has a model of its work: ``python -m benchmarks.work_coverage``.

Reads the recordings of ``tests/support/shared_traces.py``, or those given. A third of them, by a
hash of the name, is marked ``aside``: models were developed on the others. ``--markdown`` prints
the table of docs/internals/work-models.md instead.
"""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.work.arguments import DTYPES
from tb_privateuse1.analysis.work.collectives import payload_bytes
from tb_privateuse1.analysis.work.kernel_work import kernel_work
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace.groupby import distinct_values, sums
from tb_privateuse1.trace.model import MISSING, Trace
from tests.support.shared_traces import TRACES, load

_EXCESS = 1.05
_HALF = tuple(DTYPES.index(name) for name in ("float16", "bfloat16"))


class UnknownName(Struct, frozen=True):
    """An operator without known work, and the time of its device activities."""

    name: str
    device_ns: int


class Coverage(Struct, frozen=True):
    """Device time of operators: in all, and with known work."""

    device_ns: int
    known_ns: int
    unknown: tuple[UnknownName, ...]
    """Operators without known work, by time."""
    unlinked_ns: int
    """Time of activities without an operator, such as replays of graphs; it is in no other sum."""

    @property
    def share(self) -> float | None:
        """Return the share of operator device time with known work; None without any."""
        return self.known_ns / self.device_ns if self.device_ns else None


def coverage(trace: Trace) -> Coverage:
    """Return the share of operator device time with a model, and the names without."""
    kernels, ops = trace.kernels, trace.ops
    duration = kernels.end_ns - kernels.start_ns
    linked = kernels.op >= 0
    known = linked & ((kernel_work(trace).op >= 0) | (payload_bytes(trace) != MISSING))
    lacking = linked & ~known
    name = ops.name[kernels.op[lacking]]
    total = sums(name, duration[lacking], len(trace.strings))
    names = distinct_values(name)
    order = names[np.argsort(-total[names], kind="stable")]
    return Coverage(
        device_ns=int(duration[linked].sum()),
        known_ns=int(duration[known].sum()),
        unknown=tuple(UnknownName(trace.text(n), int(total[n])) for n in order),
        unlinked_ns=int(duration[~linked].sum()),
    )


def is_aside(path: Path) -> bool:
    """Whether a recording was kept aside while the models were developed."""
    name = str(Path(*path.parts[-3:]))
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 3 == 0


def excesses(trace: Trace) -> list[str]:
    """Activities above 105 % of the data sheet: product rates in half precision, memory rates."""
    work, kernels = kernel_work(trace), trace.kernels
    peak = next(
        (p for d in trace.meta.devices if (p := trace.vendor.peak(str(d.get("name"))))), None
    )
    if peak is None:
        return []
    duration = np.maximum(kernels.end_ns - kernels.start_ns, 1)
    found = []
    checks = []
    if peak.half_tflops:
        half = np.isin(work.dtype, _HALF) & work.matrix & (work.flops != MISSING)
        checks.append(("TFLOP/s", np.where(half, work.flops, 0) / duration / 1e3, peak.half_tflops))
    if peak.memory_gb_per_s:
        known = (work.read_bytes != MISSING) & (work.written_bytes != MISSING)
        moved = np.where(known, work.read_bytes + work.written_bytes, 0)
        checks.append(("GB/s", moved / duration, peak.memory_gb_per_s))
    for unit, rate, roof in checks:
        rows = np.flatnonzero(rate > _EXCESS * roof)
        for op in np.unique(trace.ops.name[work.op[rows]]).tolist():
            of = rows[trace.ops.name[work.op[rows]] == op]
            most = of[rate[of].argmax()]
            shapes = trace.text(trace.ops.shapes[work.op[most]])
            found.append(
                f"{len(of)} x {trace.text(op)} up to {rate[most]:.0f} of {roof} {unit}, "
                f"{duration[most] / 1e3:.1f} us, {shapes}"
            )
    return found


def markdown(paths: list[Path]) -> None:
    """Print a row per recording with shapes and activities of operators."""
    print("| recording | operators' device time, ms | with a model | without |")
    print("|---|---|---|---|")
    for path in paths:
        trace = load(path)
        result = coverage(trace)
        if result.share is None or not (trace.ops.shapes >= 0).any():
            continue
        named = [one for one in result.unknown if one.device_ns > 0.003 * result.device_ns]
        lacking = ", ".join(
            f"`{one.name}` {100 * one.device_ns / result.device_ns:.1f} %" for one in named[:6]
        )
        title = f"{path.parent.parent.name}/{path.parent.name}" + " (aside)" * is_aside(path)
        time_ms = result.device_ns / 1e6
        print(f"| {title} | {time_ms:.2f} | {100 * result.share:.1f} % | {lacking} |")


def main(paths: list[str]) -> None:
    """Print coverage, unknown names, rates above the peak, and the time it takes."""
    if paths[:1] == ["--markdown"]:
        markdown([Path(p) for p in paths[1:]] or TRACES)
        return
    for path in [Path(p) for p in paths] or TRACES:
        trace = load(path)
        if not len(trace.kernels):
            continue
        begin = time.perf_counter()
        operator_work(trace)
        kernel_work(trace)
        took = time.perf_counter() - begin
        result = coverage(trace)
        shaped = "" if (trace.ops.shapes >= 0).any() else " no shapes"
        share = "-" if result.share is None else f"{100 * result.share:.1f} %"
        linked = result.device_ns / max(result.device_ns + result.unlinked_ns, 1)
        print(
            f"{'aside' if is_aside(path) else 'open '} {Path(*path.parts[-3:-1])!s:44}{share:>8}"
            f" of {result.device_ns / 1e6:9.2f} ms ({100 * linked:.0f} % linked)"
            f" {len(trace.ops):7} ops {1e3 * took:6.1f} ms{shaped}"
        )
        if shaped:
            continue
        for one in result.unknown[:8]:
            if one.device_ns > 0.002 * result.device_ns:
                print(f"        {100 * one.device_ns / result.device_ns:5.1f} % {one.name}")
        for text in excesses(trace):
            print(f"        above the peak: {text}")


if __name__ == "__main__":
    main(sys.argv[1:])
