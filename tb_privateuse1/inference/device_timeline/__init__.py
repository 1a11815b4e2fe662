"""Infer the device timeline from the elapsed device times of operators (ProfilerStubs).

The kind of the elapsed times is detected first (``elapsed_kind``), then the streams that they were
recorded on (``streams``). Sums of kernel durations need a queue per stream (``kernel_sum_queue``),
times between events the phases of ``event_pipeline``. Anything else is refused with the reason.
docs/internals/inference.md says why each step holds.

Glossary, as the modules use the words:

- **event pair**: the two events that the profiler records around an operator. An **event** here is
  one of them, never a row of the trace file. All events of a stream form one sequence in the
  order of their host times. (Shown results and their JSON names call them *marks*.)
- **segment**: the time from an event to the next one of the stream; an **own segment** of an
  operator: from an event to the next one of its thread, with no inner operator open.
- **launch**: the host's call that submits device work; **latency**: from launch to start on an
  idle device. A segment or operator is **launch-free** if no thread can have launched in it.
- **backlog**: submitted work that the device has not finished. With one the device is **behind**
  the host; without, it is **idle**, and an event executes at the host time plus the latency.
- **synchronization point**: an event whose device time something else bounds: a call that waited
  for the device, or another stream. An **anchor** is one that the elapsed times show: a
  launch-free segment that took the device longer than its event costs, so that it was idle.
- **bound**: earliest or latest possible time, given the assumptions; an **estimate** is the likely
  value inside the bounds. Bounds **cross** if they contradict each other.
- **prior**: who may launch, by name; **evidence**: what the trace shows of it. ``Kernels.evidence``
  is the class of a kernel's times (``EVENTS``, ``END_PINNED``, ``SYNC``, ``CATALOGUE``, ``BOUND``).
- **visible**: the kernel ran under a backlog, so that the time between its events is its duration;
  otherwise it is **hidden** behind host time.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.inference.device_timeline import (
    calibration,
    elapsed_kind,
    event_pairs,
    event_pipeline,
    event_times,
    host_tensors,
    kernel_sum_queue,
    launching_operators,
    recorded_launches,
    self_test,
    step_markers,
    stream_joins,
    streams,
    unknown_work,
)
from tb_privateuse1.inference.device_timeline.other_recordings import Others as Others
from tb_privateuse1.inference.device_timeline.phase_results import StreamInput
from tb_privateuse1.inference.device_timeline.recorded_launches import (
    KnownLaunches as KnownLaunches,
)
from tb_privateuse1.inference.device_timeline.recorded_launches import (
    known_launches as known_launches_of,
)
from tb_privateuse1.inference.device_timeline.step_markers import (
    markers_on_clock as markers_on_clock,
)
from tb_privateuse1.inference.device_timeline.timeline_inputs import StreamKernels
from tb_privateuse1.inference.stage_inputs import WINDOW_EDGES, Activities, Strings
from tb_privateuse1.readers.raw import Sidecar, StepMarkers
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.blocking_names import blocks
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.inference_basis import InferenceBasis
from tb_privateuse1.trace.model import MISSING, NONE, Frames, Kernels, Lanes, Memory, Ops
from tb_privateuse1.trace.sum_bounds import GUESSED
from tb_privateuse1.trace.table import I64, Bools

__all__ = [
    "HostRecording",
    "KnownLaunches",
    "Others",
    "infer_timeline",
    "known_launches_of",
    "markers_on_clock",
]


class HostRecording(Struct, frozen=True):
    """The host's side of a recording without device activities.

    Calls that wait for the device are found among the operators and the Python ``frames``.
    ``memory`` are the memory events, which show operators on tensors of the host. ``others``
    returns other recordings of the run; it is called if durations are hidden here. ``launches`` are
    those that the backend recorded, ``markers`` those of the capture at the ends of steps.
    """

    ops: Ops
    strings: Strings
    sidecar: Sidecar | None
    frames: Frames | None = None
    others: Others | None = None
    memory: Memory | None = None
    launches: KnownLaunches | None = None
    markers: StepMarkers | None = None


def infer_timeline(host: HostRecording) -> Activities | None:
    """Return inferred kernels on a lane per stream, or None without a sidecar."""
    sidecar = host.sidecar
    if sidecar is None:
        return None
    ops, strings, facts = host.ops, host.strings, sidecar.facts
    kind = elapsed_kind.detect(ops, strings, facts.get("elapsed_kind"), facts.get("elapsed_unit"))
    times, wrong = event_times.device_times(ops, sidecar, kind.name)
    if times is not None:
        reports = say("The backend reports when the device executed each event.")
        kind = replace(kind, evidence=join_sentences((kind.evidence, reports)))
        if kind.name == "event":
            kind = replace(kind, resolution_ns=times.resolution_ns)
            ops = event_times.with_exact_times(ops, times)
            host = replace(host, ops=ops)
    counts = {"shapes": int((ops.shapes >= 0).sum())}
    basis = InferenceBasis(kind.name, kind.evidence, counts=counts)
    if kind.finding is not None or kind.name == "none":
        return _activities(ops, strings, [], [StreamKernels.none(kind.finding, basis)])
    split = streams.split_streams(ops, sidecar)
    inputs = _stream_inputs(host, sidecar, split, kind.resolution_ns, basis)
    if times is not None:
        inputs = _with_event_times(inputs, split, times)
    if kind.name == "kernel_sum":
        work = [kernel_sum_queue.replay_queue(stream) for stream in inputs]
    else:
        if len(split) > 1:
            inputs = _with_joins(inputs)
        work = [event_pipeline.place_kernels(stream) for stream in inputs]
    if len(split) == 1 and _contradicts(work[0]):
        several = streams.find_parallel(ops, kind.resolution_ns)
        if several is not None:
            reason = replace(work[0].basis or basis, evidence=several.message)
            work = [StreamKernels.none(several, replace(reason, kind=basis.kind))]
    work = [_in_whole_table(w, s.row) for w, s in zip(work, split, strict=True)]
    found = _activities(ops, strings, split, work)
    found = _self_tested(found, ops, strings, sidecar)
    return replace(found, findings=(*found.findings, *wrong))


def _self_tested(found: Activities, ops: Ops, strings: Strings, sidecar: Sidecar) -> Activities:
    """Return the run's own activities, and how many bounds held for what the capture planted."""
    basis = found.basis
    if basis is None or not len(found.kernels):
        return found
    judged = self_test.judge_bounds(ops, strings, sidecar, basis, found.kernels)
    kernels = self_test.without_capture(found.kernels, ops, strings)
    if not len(kernels):
        return replace(found, kernels=Kernels.empty(), lanes=Lanes.empty())
    if judged is None:
        return replace(found, kernels=kernels)
    held, total = judged
    counts = {**basis.counts, "self_test": total, "self_test_held": held}
    return replace(
        found,
        kernels=kernels,
        findings=(*found.findings, *self_test.failed(held, total)),
        basis=replace(basis, counts=counts),
    )


def _with_event_times(
    inputs: list[StreamInput], split: list[streams.Stream], times: event_times.DeviceTimes
) -> list[StreamInput]:
    """Return the streams with measured times of their events; each device has its own clock."""
    timed = list(inputs)
    for device in {stream.device for stream in split}:
        own = [i for i, stream in enumerate(split) if stream.device == device]
        measured = event_times.measured_streams(
            [inputs[i] for i in own], [times.take(split[i].row) for i in own]
        )
        for i, stream in zip(own, measured, strict=True):
            timed[i] = stream
    return timed


def _in_whole_table(work: StreamKernels, row: I64) -> StreamKernels:
    """Return the work with the operators of dropped claims as rows of the table of all streams."""
    if work.basis is None or not work.basis.dropped:
        return work
    dropped = tuple(row[list(work.basis.dropped)].tolist())
    return replace(work, basis=replace(work.basis, dropped=dropped))


def _contradicts(work: StreamKernels) -> bool:
    """Return whether any of the claims about a stream had to be dropped."""
    return work.basis is not None and work.basis.counts.get("dropped_claims", 0) > 0


def _may_launch(ops: Ops, strings: Strings, memory: Memory | None) -> Bools:
    """Return the operators whose names and tensors allow that they launch."""
    may = launching_operators.may_launch(ops, strings)
    if memory is None:
        return may
    allowed: Bools = may & ~host_tensors.host_operators(ops, strings, memory)
    return allowed


def _stream_inputs(
    host: HostRecording,
    sidecar: Sidecar,
    split: list[streams.Stream],
    resolution_ns: int,
    basis: InferenceBasis,
) -> list[StreamInput]:
    """Return the streams before they are solved: their events, who may launch, their constants."""
    may_launch = _may_launch(host.ops, host.strings, host.memory)
    waits = _waits(host.ops, host.strings, host.frames, sidecar)
    is_alone = len(split) == 1
    inputs = []
    for stream in split:
        ops, may = host.ops, may_launch[stream.row]
        if len(stream.row) < len(ops):
            ops = streams.select_operators(ops, stream.row)
        events = event_pairs.pair_events(ops)
        launching = launching_operators.launching_segments(events, may)
        known = recorded_launches.launch_positions(host.launches, stream, is_alone, events, ops)
        if known is not None:
            launching = known.launching
            may = recorded_launches.operators_with_launches(known, events, ops)
        launch_free = event_pairs.launch_free_segments(events, launching)
        c = calibration.calibrate(ops, sidecar, resolution_ns, events, launch_free)
        markers = step_markers.markers_of_stream(host.markers, stream, alone=is_alone)
        inputs.append(
            StreamInput(
                ops,
                host.strings,
                events,
                may,
                waits,
                c,
                basis,
                None,
                known,
                markers,
                host.others,
                beside=not is_alone,
            )
        )
    return inputs


def _with_joins(inputs: list[StreamInput]) -> list[StreamInput]:
    """Return the streams with the times at which they may have waited for each other."""
    lanes = []
    for stream in inputs:
        between = launching_operators.may_wait_for_streams(stream.ops, stream.strings)
        innermost = stream.events.innermost
        waiting = (innermost < 0) | between[innermost]
        wait_free = event_pairs.launch_free_segments(stream.events, waiting)
        lanes.append(
            stream_joins.build_lane(stream.ops, stream.events, wait_free, between, stream.c)
        )
    joins = stream_joins.find_joins(lanes, inputs[0].waits)
    return [replace(stream, joins=own) for stream, own in zip(inputs, joins, strict=True)]


def _waits(ops: Ops, strings: Strings, frames: Frames | None, sidecar: Sidecar) -> tuple[I64, I64]:
    """Return starts and ends of the host ranges that wait for the device, by their names."""
    edges = () if sidecar.warned("no-synchronize") else WINDOW_EDGES
    columns = [ops.name] if frames is None else [ops.name, frames.name]
    used = groupby.distinct_values(np.concatenate(columns)).tolist()
    names = [i for i in used if i >= 0 and (blocks(strings.all[i]) or strings.all[i] in edges)]
    blocking = np.isin(ops.name, names)
    starts, ends = [ops.start_ns[blocking]], [ops.end_ns[blocking]]
    if frames is not None:
        calls = np.isin(frames.name, names)
        starts.append(frames.start_ns[calls])
        ends.append(frames.end_ns[calls])
    return np.concatenate(starts), np.concatenate(ends)


def _activities(
    ops: Ops, strings: Strings, split: list[streams.Stream], work: list[StreamKernels]
) -> Activities:
    """Return the kernels of all streams in one table by start, and each kind of finding once."""
    findings: dict[str, Finding] = {}
    refused = streams.refused_streams([() if len(w) else w.findings for w in work])
    missing = [f for i in refused for f in streams.missing_stream(split[i], work[i].findings)]
    every = [f for i, w in enumerate(work) if i not in refused for f in w.findings]
    for finding in every:
        before = findings.get(finding.code, finding)
        total = None if finding.count is None else (before.count or 0) + finding.count
        merged = replace(finding, count=total)
        findings[finding.code] = finding if before is finding else merged
    if not any(len(w) for w in work):
        return Activities(
            Kernels.empty(), Lanes.empty(), tuple(findings.values()), basis=work[0].basis
        )
    lanes = Lanes(
        np.array([s.device for s in split]),
        np.array([s.stream for s in split]),
        np.array([strings.id(f"device {s.device} stream {s.stream}") for s in split], np.int32),
    )
    found_unknown = any((w.row == NONE).any() for w in work)
    unknown = strings.id(unknown_work.UNKNOWN_WORK) if found_unknown else NONE
    kernels = [
        _kernels(ops, s.row, w, lane, unknown)
        for lane, (s, w) in enumerate(zip(split, work, strict=True))
    ]
    columns = zip(*(one.columns() for one in kernels), strict=True)
    table = Kernels(**{parts[0][0]: np.concatenate([p[1] for p in parts]) for parts in columns})
    order = np.argsort(table.start_ns, kind="stable")
    return Activities(
        table.take(order),
        lanes,
        (*missing, *findings.values()),
        basis=_merge_basis([w for i, w in enumerate(work) if i not in refused]),
        missing_lanes=refused,
        unseen_ns=sum(w.unseen_ns for w in work),
        unseen_waits=sum(w.unseen_waits for w in work),
    )


def _merge_basis(work: list[StreamKernels]) -> InferenceBasis | None:
    """Return the basis of the stream with most operators, with the counts summed over all."""
    basis = work[0].basis
    counts_of = [w.basis.counts for w in work if w.basis is not None]
    if basis is None or len(counts_of) < 2:
        return basis
    total = {name: sum(c.get(name, 0) for c in counts_of) for name in counts_of[0]}
    names = dict.fromkeys(n for w in work if w.basis is not None for n in w.basis.others)
    counts = {**total, "shapes": counts_of[0]["shapes"]}
    dropped = tuple(sorted(row for w in work if w.basis is not None for row in w.basis.dropped))
    return replace(basis, counts=counts, others=tuple(names), dropped=dropped)


def _kernels(ops: Ops, rows: I64, work: StreamKernels, lane: int, unknown: int) -> Kernels:
    n = len(work)
    none = np.full(n, NONE, np.int32)
    row = lookup(rows, work.row, NONE)
    return Kernels(
        name=np.where(row == NONE, unknown, ops.name[row]).astype(np.int32),
        kind=work.activity,
        communication=np.zeros(n, np.bool_),
        start_ns=work.start_ns,
        end_ns=work.start_ns + work.duration_ns,
        lane=np.full(n, lane, np.int32),
        launch=none,
        op=row.astype(np.int32),
        capture=none.copy(),
        captured_op=none.copy(),
        step=none.copy(),
        config=none.copy(),
        correlation=np.full(n, NONE, np.int64),
        bytes=np.full(n, MISSING),
        evidence=work.evidence,
        start_bound_ns=work.start_bound_ns,
        shift_bound_ns=np.full(n, work.shift_bound_ns),
        duration_bound_ns=work.duration_bound_ns,
        error_group=np.where(work.guessed, GUESSED, 0).astype(np.int32),
        event=none.copy(),
    )
