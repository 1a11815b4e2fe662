"""Build a Trace from raw columns: device times are measured, inferred, or absent.

This room computes no figure that is shown. It says what ran when, on which lane, launched by which
call, and how well each of these is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.inference import (
    autograd_export,
    collective_entries,
    collectives,
    compile_logs,
    counter_samples,
    device_processes,
    device_timeline,
    graph_annotations,
    graph_captures,
    host_tables,
    measured_timeline,
    process_groups,
    quality,
    recording_window,
    steps,
    task_queue,
    tensor_identities,
    trace_metadata,
)
from tb_privateuse1.inference.stage_inputs import Activities, Strings
from tb_privateuse1.inference.validity import (
    completeness,
    concurrent_steps,
    device_clock,
    far_times,
    host_ends,
    impossible_steps,
    lost_calls,
    stream_order,
    unseen_threads,
    unseen_work,
    zero_times,
)
from tb_privateuse1.readers.raw import Raw, Sidecar, StepMarkers
from tb_privateuse1.trace import sum_bounds
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import (
    MEASURED,
    NONE,
    Frames,
    Kernels,
    Lanes,
    Launches,
    Meta,
    Ops,
    Timeline,
    Trace,
)
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
    """Return the trace of one file and its sidecar, with times in ns from the first event.

    ``vendor``: detected among ``known`` if not given. ``rank``: as discovery read it from the
    file's name. ``use_up``: the caller does not need ``raw`` any more; its columns are released as
    their rows are placed. ``others`` returns other recordings of the run; it is called if durations
    are hidden in this one.
    """
    raw = autograd_export.name_categories(device_processes.name_categories(raw, known))
    raw, doubts = zero_times.leave_out(raw)
    raw, far = far_times.leave_out(raw)
    raw, wrong = impossible_steps.leave_out(raw)
    vendor = vendor or trace_metadata.detect_vendor(raw, sidecar, known)
    raw, endless = host_ends.cut(raw, vendor)
    raw, concurrent = concurrent_steps.leave_out(raw)
    doubts += far + wrong + endless + concurrent + lost_calls.findings(raw)
    strings = Strings(raw.strings)
    meta = trace_metadata.build_meta(raw, sidecar, vendor, worker=worker, files=files, rank=rank)
    clues = quality.collect_clues(raw, sidecar)
    if not use_up:
        raw = replace(raw, groups=dict(raw.groups))
    host = host_tables.build_host(raw, sidecar, vendor, strings)
    activities = measured_timeline.build_activities(raw, vendor, strings, host.ops, host.launches)
    if activities is not None:
        activities = stream_order.cut(device_clock.align(activities, host), host, strings)
    else:
        launches = device_timeline.known_launches_of(
            sidecar.launches if sidecar else None, raw.base_ns, raw.threads, strings, host.ops
        )
        markers = device_timeline.markers_on_clock(
            sidecar.markers if sidecar else None, raw.base_ns, host.ops
        )
        activities = _infer(host, strings, sidecar, others, launches, markers)
    trace = _assemble(raw, meta, vendor, host, activities, strings)
    trace = graph_captures.add_captures(trace, others)
    trace = graph_annotations.add_annotations(trace, activities.graph)
    findings = doubts + trace_metadata.metadata_findings(raw, sidecar, vendor, activities, trace)
    findings += recording_window.window_findings(raw) + compile_logs.findings(raw)
    findings += quality.check_quality(trace, clues, sidecar)
    if trace.meta.timeline == "inferred":
        findings += task_queue.queue_findings(host.tasks)
    trace = replace(trace, meta=replace(trace.meta, findings=findings))
    timed = sidecar is not None and sidecar.first_ns is not None
    trace = completeness.mark(trace)
    unseen = unseen_threads.find(trace, sidecar)
    marked = unseen_work.mark(trace, activities.unseen_ns, activities.unseen_waits, timed=timed)
    return unseen_threads.mark(marked, unseen)


def _infer(
    host: host_tables.Host,
    strings: Strings,
    sidecar: Sidecar | None,
    others: device_timeline.Others | None,
    launches: device_timeline.KnownLaunches | None,
    markers: StepMarkers | None,
) -> Activities:
    """Return the inferred activities; none without a sidecar."""
    ops = task_queue.passing_times(host.ops, host.tasks)
    recording = device_timeline.HostRecording(
        ops, strings, sidecar, host.frames, others, host.memory, launches, markers
    )
    activities = device_timeline.infer_timeline(recording)
    return activities or Activities(Kernels.empty(), Lanes.empty())


def _assemble(
    raw: Raw,
    meta: Meta,
    vendor: Vendor,
    host: host_tables.Host,
    activities: Activities,
    strings: Strings,
) -> Trace:
    """Return the trace without findings. Shifts all times in place to begin at 0."""
    kernels = _with_error_groups(activities.kernels, host.ops)
    start, end = _extent(host, kernels)
    host_tables.shift_times(host, start)
    marks = activities.annotations
    for column in (kernels.start_ns, kernels.end_ns, marks.start_ns, marks.end_ns):
        host_tables.shift_column(column, start)
    built = steps.build_steps(host.ops, kernels, host.launches, strings, end - start)
    table, step_of_ops, step_of_kernels = built
    rows = collectives.build_collectives(host, kernels, activities.claims, strings)
    groups = process_groups.read_groups(raw, (host.claims, activities.claims), strings)
    counters = counter_samples.recorded_counters(raw, strings, start)
    written = trace_metadata.recorded_metadata(raw, strings)
    log = compile_logs.joined(raw, raw.base_ns + start)
    sources = trace_metadata.kernel_sources((*raw.kernel_sources, *log.sources), strings)
    return Trace(
        base_ns=collective_entries.known_base(raw.base_ns + start),
        start_ns=start,
        end_ns=end - start,
        strings=tuple(strings.all),
        meta=replace(
            meta,
            timeline=_timeline(kernels),
            missing_lanes=activities.missing_lanes,
            grounds=activities.basis,
            groups=groups,
            profiler_end_ns=trace_metadata.profiler_end(raw, start),
        ),
        vendor=vendor,
        threads=raw.threads,
        ops=replace(host.ops, step=step_of_ops),
        frames=host.frames,
        launches=host.launches,
        lanes=activities.lanes,
        kernels=replace(kernels, step=step_of_kernels),
        device_annotations=marks,
        event_waits=activities.waits,
        memory=host.memory,
        tensors=tensor_identities.build_tensors(raw.tensors, host.ops),
        steps=table,
        collectives=rows,
        collective_entries=collective_entries.on_clock(raw.entries, raw.base_ns + start),
        checkpoints=raw.checkpoints,
        configs=activities.configs,
        counter_series=counters.series,
        counter_samples=counters.samples,
        metadata=written,
        kernel_sources=sources,
        compilations=log.compilations,
        compile_notes=log.notes,
        memory_blocks=raw.memory_blocks,
    )


def _with_error_groups(kernels: Kernels, ops: Ops) -> Kernels:
    """Return the kernels; inferred ones of equal names, shapes and dtypes share an error group.

    Those whose duration is guessed have ``GUESSED`` in the column until now.
    """
    shapes, dtypes = lookup(ops.shapes, kernels.op, NONE), lookup(ops.dtypes, kernels.op, NONE)
    guessed = kernels.error_group == sum_bounds.GUESSED
    groups = sum_bounds.error_groups(guessed, kernels.name, shapes, dtypes)
    groups = np.where(kernels.evidence == MEASURED, NONE, groups).astype(np.int32)
    return replace(kernels, error_group=groups)


def _timeline(kernels: Kernels) -> Timeline:
    if not len(kernels):
        return "none"
    return "measured" if bool((kernels.evidence == MEASURED).all()) else "inferred"


def _extent(host: host_tables.Host, kernels: Kernels) -> tuple[int, int]:
    """Return the first start and the last end of all ranges.

    Spans and instants do not count: a broken profiler plugin puts those at time 0.
    """
    ranges: tuple[Ops | Launches | Kernels | Frames, ...]
    ranges = (host.ops, host.launches, kernels, host.frames)
    starts = [int(np.min(t.start_ns)) for t in ranges if len(t)]
    ends = [int(np.max(t.end_ns)) for t in ranges if len(t)]
    return (min(starts), max(ends)) if starts else (0, 0)
