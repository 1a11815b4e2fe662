"""Raw columns -> Trace: the pipeline. Device times are measured, inferred, or none.

``infer`` computes no figure that is shown; it says what happened when, on which lane, launched
by whom, and how well each of it is known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from tb_privateuse1.inference import (
    collectives,
    device_timeline,
    host_events,
    measured_timeline,
    quality,
    steps,
    task_queue,
    trace_metadata,
)
from tb_privateuse1.inference.base import Activities, Strings
from tb_privateuse1.readers.raw import Raw, Sidecar
from tb_privateuse1.trace.model import MEASURED, Kernels, Lanes, Ops, Timeline, Trace
from tb_privateuse1.trace.vendor import Vendor
from tb_privateuse1.vendors import VENDORS

__all__ = [
    "build_trace",
]


def build_trace(
    raw: Raw,
    sidecar: Sidecar | None,
    vendor: Vendor | None = None,
    *,
    worker: str = "",
    files: tuple[str, ...] = (),
    rank: int | None = None,
    use_up: bool = False,
    others: device_timeline.Others | None = None,
    known: Sequence[Vendor] = VENDORS,
) -> Trace:
    """The trace of one file and its sidecar.

    ``vendor`` is found out among ``known`` where it is not given; ``rank`` is what discovery made
    of it.
    ``use_up``: ``raw`` is not needed any more; its columns are let go as their rows are placed.
    ``others`` gives other recordings of the run: they are asked for durations that hide in this.
    """
    vendor = vendor or trace_metadata.detect_vendor(raw, sidecar, known)
    strings = Strings(raw.strings)
    meta = trace_metadata.build_meta(raw, sidecar, vendor, worker=worker, files=files, rank=rank)
    clues = quality.collect_clues(raw, sidecar)
    if not use_up:
        raw = dataclasses.replace(raw, groups=dict(raw.groups))
    tables = host_events.build_host(raw, sidecar, vendor)
    recorded = measured_timeline.build_activities(raw, vendor, strings, tables.ops, tables.launches)
    passed = task_queue.passing_times(tables.ops, tables.tasks)
    activities = recorded or device_timeline.infer_timeline(
        passed, strings, sidecar, tables.frames, others
    )
    if activities is None:
        activities = Activities(Kernels.empty(), Lanes.empty())
    start, end = _extent(tables, activities.kernels)
    kernels = activities.kernels
    host_events.shift_times(tables, start)
    for column in (kernels.start_ns, kernels.end_ns):
        host_events.shift_column(column, start)
    step, of_ops, of_kernels = steps.build_steps(
        tables.ops, kernels, tables.launches, strings, end - start
    )
    talk = collectives.build_collectives(tables, kernels, activities.told, strings)
    trace = Trace(
        base_ns=raw.base_ns + start,
        start_ns=start,
        end_ns=end - start,
        strings=tuple(strings.all),
        meta=dataclasses.replace(
            meta,
            timeline=_timeline(kernels),
            grounds=activities.basis,
        ),
        vendor=vendor,
        threads=raw.threads,
        ops=dataclasses.replace(tables.ops, step=of_ops),
        frames=tables.frames,
        launches=tables.launches,
        lanes=activities.lanes,
        kernels=dataclasses.replace(kernels, step=of_kernels),
        memory=tables.memory,
        steps=step,
        collectives=talk,
        checkpoints=raw.checkpoints,
        configs=activities.configs,
    )
    told = trace_metadata.metadata_findings(raw, sidecar, vendor, activities)
    found = [*quality.check_quality(trace, clues, sidecar)]
    if trace.meta.timeline == "inferred":
        found += task_queue.queue_findings(tables.tasks)
    return dataclasses.replace(
        trace, meta=dataclasses.replace(trace.meta, findings=(*told, *found))
    )


def _timeline(kernels: Kernels) -> Timeline:
    if not len(kernels):
        return "none"
    return "measured" if bool((kernels.evidence == MEASURED).all()) else "inferred"


def _extent(tables: host_events.Host, kernels: Kernels) -> tuple[int, int]:
    """First start and last end of what really happened.

    Not of spans and instants: a broken profiler plugin puts those at time 0.
    """
    ops: Ops = tables.ops
    ranges = (ops, tables.launches, kernels, tables.frames)
    starts = [int(np.min(t.start_ns)) for t in ranges if len(t)]
    ends = [int(np.max(t.end_ns)) for t in ranges if len(t)]
    return (min(starts), max(ends)) if starts else (0, 0)
