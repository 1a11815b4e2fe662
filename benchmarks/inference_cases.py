"""Traces whose true device timeline is known, for measuring the inference.

Two kinds: recordings of a simulated backend that logged its kernels (``truth*.json.gz`` beside
the trace), and real CUDA and ROCm traces whose kernels are taken away and whose operators get the
elapsed times that events around them would have read: a mark recorded at host time ``h`` executes
at ``max(h + launch latency, end of what was launched before h)``.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from tb_privateuse1 import inference
from tb_privateuse1.inference.device_timeline import event_pairs
from tb_privateuse1.inference.stage_inputs import PRIME, SELF_TEST
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.readers.raw import Raw, Sidecar
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE, Kernels, Trace
from tb_privateuse1.trace.table import I64

FOLDER = Path(__file__).parents[2] / "shared" / "traces"

UNLINKED = -2
"""The operator of an activity that none is known to have launched."""

_MIN_LATENCY_NS, _MAX_LATENCY_NS, _LATENCY_NS = 2_000, 25_000, 6_000


@dataclass(frozen=True)
class Truth:
    """Device activities as they were, ns since the file's base. ``external_id`` may be unknown."""

    external_id: I64
    start_ns: I64
    end_ns: I64


@dataclass(frozen=True)
class Case:
    """A trace without device activities, its sidecar, and the truth."""

    name: str
    raw: Raw
    sidecar: Sidecar
    truth: Truth

    def without_event_times(self) -> Case:
        """The same as a backend that tells elapsed times only."""
        return dataclasses.replace(self, sidecar=replace(self.sidecar, first_ns=None))

    def trace(self, *others: Trace) -> Trace:
        """What the inference makes of it, beside ``others`` of its run."""
        return inference.build_trace(self.raw, self.sidecar, others=lambda: others)


def simulated(folder: Path = FOLDER / "privateuse1", *, recipe: bool = False) -> Iterator[Case]:
    """The recordings in a folder with a sidecar (``recipe``: the published recipe's) and truth."""
    for path in sorted(folder.glob("*/*.pt.trace.json.gz")):
        beside = Path(str(path).replace(".pt.trace.", ".kernel_event."))
        if recipe:
            beside = path.parent / "kernel_event_0.json.gz"
        truth = next(iter(path.parent.glob("truth*.json.gz")), None)
        if truth is None or not beside.exists():
            continue
        raw = chrome.read(str(path))
        rows = content(truth)
        start, end = (np.array(rows[k], np.int64) - raw.base_ns for k in ("start_ns", "end_ns"))
        launched = np.array(rows.get("launch_ns", rows["start_ns"]), np.int64) - raw.base_ns
        ids = np.array(rows.get("external_id", [NONE] * len(start)), np.int64)
        theirs = ~np.isin(ids, _priming(raw)) & (launched >= _begins(raw))
        known = Truth(ids[theirs], start[theirs], end[theirs])
        yield Case(path.parent.name, raw, readers_sidecar.read_sidecar(str(beside)), known)


def _begins(raw: Raw) -> int:
    """When the recording did: the reference device's log goes back to the steps before."""
    return inference.build_trace(raw, None).start_ns


def _priming(raw: Raw) -> I64:
    """External ids of the capture's own work: priming and the self-test."""
    ops = inference.build_trace(raw, None).ops
    name = [i for i, text in enumerate(raw.strings) if text in (PRIME, SELF_TEST)]
    outer = ops.take(np.isin(ops.name, name))
    at = intervals.innermost(outer.thread, outer.start_ns, outer.end_ns, ops.thread, ops.start_ns)
    return ops.external_id[at >= 0]


def content(path: Path) -> dict[str, Any]:
    """A zipped log of the truth."""
    rows: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return rows


def hidden(paths: list[Path] | None = None) -> Iterator[Case]:
    """Real traces with enough linked kernels, their kernels hidden."""
    if paths is None:
        paths = sorted([*FOLDER.glob("cuda/*/*.gz"), *FOLDER.glob("rocm/*/*.gz")])
    for path in paths:
        case = hide(path)
        if case is not None:
            yield case


def hide(path: Path, least: int = 30) -> Case | None:
    """One real trace as a backend with event marks would have shown it, its busiest stream."""
    raw = chrome.read(str(path))
    trace = inference.build_trace(raw, None)
    kernels, launches = trace.kernels, trace.launches
    if not len(kernels) or not len(trace.ops):
        return None
    lane = np.bincount(kernels.lane).argmax()
    kernels = kernels.take(kernels.lane == lane)
    linked = (kernels.launch >= 0) & (kernels.op >= 0)
    if linked.sum() < least:
        return None
    call = np.where(kernels.launch >= 0, launches.start_ns[kernels.launch], NONE)
    fastest = int(np.percentile((kernels.start_ns - call)[linked], 1))
    latency = fastest if _MIN_LATENCY_NS <= fastest <= _MAX_LATENCY_NS else _LATENCY_NS
    call = _launched(kernels, call, latency)
    ids, first, second = _executed(trace, call, kernels.end_ns, latency)
    elapsed = (second - first) // 1000 * 1000
    facts = {"launch_latency_ns": latency, "elapsed_resolution_ns": 1000}
    external_id = np.where(linked, trace.ops.external_id[kernels.op], UNLINKED)
    shift = trace.start_ns
    return Case(
        f"{path.parent.parent.name}/{path.parent.name}",
        _without_device(raw),
        Sidecar(ids, elapsed, facts, first_ns=first, second_ns=second),
        Truth(external_id, kernels.start_ns + shift, kernels.end_ns + shift),
    )


def _launched(kernels: Kernels, call: I64, latency: int) -> I64:
    """Return when each kernel of a stream was launched; ``call`` is ``NONE`` if it is not recorded.

    Such a one was launched no later than the next one of the stream and than its own start allows;
    ahead of all recorded ones, before the recording. But on an idle device it started at once.
    """
    never, ever = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    recorded = call != NONE
    before = np.concatenate(([never // 2], np.maximum.accumulate(kernels.end_ns)[:-1]))
    idle = kernels.start_ns - before > latency
    idle[0] = kernels.start_ns[0] > latency
    at_once = np.where(recorded, call, ever)
    at_once = np.minimum(np.minimum.accumulate(at_once[::-1])[::-1], kernels.start_ns - latency)
    launched = np.where(recorded, call, at_once)
    first = int(recorded.argmax())
    launched[:first] = np.maximum.accumulate(np.where(idle, at_once, never)[:first])
    return np.minimum.accumulate(launched[::-1])[::-1]


def _executed(trace: Trace, call: I64, end: I64, latency: int) -> tuple[I64, I64, I64]:
    """Return the ids of operators, and when the device would have executed their two events."""
    order = event_pairs.pair_events(trace.ops)
    reach = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(end)))
    before = reach[np.searchsorted(call, order.host_ns, side="right")]
    at = np.maximum.accumulate(np.maximum(order.host_ns + latency, before))
    known = trace.ops.external_id >= 0
    return trace.ops.external_id[known], at[order.start][known], at[order.end][known]


def _without_device(raw: Raw) -> Raw:
    kept = {"cpu_op", "operator", "user_annotation", "python_function"}
    groups = {c: g for c, g in raw.groups.items() if c.lower() in kept}
    return replace(raw, groups=groups, flows=type(raw.flows).empty())
