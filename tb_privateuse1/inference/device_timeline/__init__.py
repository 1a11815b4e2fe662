"""Infer the device timeline from the elapsed device times of operators (ProfilerStubs).

The kind of the elapsed times is found out first, then the streams they were recorded on. Sums of
kernel durations only need a queue per stream (``queue``), times between events the pipeline of
``events``. Anything else is refused with the reason. Each stage is a file of its own;
docs/internals/inference.md says why each holds.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.inference.base import Activities, Strings
from tb_privateuse1.inference.device_timeline import (
    calibration,
    elapsed_kind,
    event_pipeline,
    kernel_sum_queue,
    launching_operators,
    marks,
    other_recordings,
    stream_joins,
    streams,
)
from tb_privateuse1.inference.device_timeline.base import Calibration, Marks, Work
from tb_privateuse1.inference.device_timeline.other_recordings import Others as Others
from tb_privateuse1.readers.raw import Sidecar
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.blocking_names import blocks
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.inference_basis import InferenceBasis
from tb_privateuse1.trace.model import MISSING, NONE, Frames, Kernels, Lanes, Ops
from tb_privateuse1.trace.table import I64, Bools

__all__ = [
    "constraints",
]

_STRANGE = "elapsed_not_of_a_stream"


def infer_timeline(
    ops: Ops,
    strings: Strings,
    sidecar: Sidecar | None,
    frames: Frames | None = None,
    others: other_recordings.Others | None = None,
) -> Activities | None:
    """Inferred kernels on a lane per stream, or None where nothing can be inferred.

    ``frames`` are the Python frames, of which calls that wait for the device are of use; ``others``
    gives other recordings of the run, if durations of this one are hidden.
    """
    if sidecar is None:
        return None
    facts = sidecar.facts
    found = elapsed_kind.detect(ops, strings, facts.get("elapsed_kind"), facts.get("elapsed_unit"))
    counts = {"shapes": int((ops.shapes >= 0).sum())}
    grounds = InferenceBasis(found.name, found.evidence, counts=counts)
    if found.finding is not None or found.name == "none":
        return _activities(ops, strings, [], [Work.none(found.finding, grounds)])
    waits = _waits(ops, strings, frames)
    split = streams.split_streams(ops, sidecar)
    parts = [streams.select_operators(ops, s.row) if len(split) > 1 else ops for s in split]
    read = [_read(part, strings, sidecar, found.resolution_ns) for part in parts]
    if found.name == "kernel_sum":
        work = [
            kernel_sum_queue.replay_queue(p, r.plain, waits, r.c, grounds)
            for p, r in zip(parts, read, strict=True)
        ]
    else:
        met = _joins(parts, read, strings, waits) if len(split) > 1 else [None]
        work = [
            event_pipeline.place_kernels(
                part, strings, r.plain, r.may, join, waits, r.c, grounds, others
            )
            for part, r, join in zip(parts, read, met, strict=True)
        ]
    if len(split) == 1 and any(f.code == _STRANGE for f in work[0].findings):
        several = streams.find_parallel(ops, found.resolution_ns)
        if several is not None:
            told = dataclasses.replace(grounds, evidence=several.message)
            work = [dataclasses.replace(work[0], findings=(several,), grounds=told)]
    return _activities(ops, strings, split, work)


@dataclass(frozen=True)
class _Read:
    """What is known of a stream before it is solved."""

    plain: Marks
    may: Bools
    c: Calibration


def _read(ops: Ops, strings: Strings, sidecar: Sidecar, resolution_ns: int) -> _Read:
    plain = marks.build_marks(ops)
    may = launching_operators.may_launch(ops, strings)
    quiet = marks.quiet_segments(plain, launching_operators.launching_segments(plain, may))
    return _Read(plain, may, calibration.calibrate(ops, sidecar, resolution_ns, plain, quiet))


def _joins(
    parts: list[Ops], read: list[_Read], strings: Strings, waits: tuple[I64, I64]
) -> list[stream_joins.Joins | None]:
    lanes = []
    for ops, r in zip(parts, read, strict=True):
        between = launching_operators.may_wait_for_streams(ops, strings)
        held = (r.plain.innermost < 0) | between[r.plain.innermost]
        still = marks.quiet_segments(r.plain, held)
        lanes.append(stream_joins.build_lane(ops, r.plain, still, between, r.c))
    return [*stream_joins.find_joins(lanes, waits)]


def _waits(ops: Ops, strings: Strings, frames: Frames | None) -> tuple[I64, I64]:
    """Host ranges that wait for the device, by their names."""
    columns = [ops.name] if frames is None else [ops.name, frames.name]
    used = groupby.distinct_values(np.concatenate(columns)).tolist()
    names = [i for i in used if i >= 0 and blocks(strings.all[i])]
    mine = np.isin(ops.name, names)
    starts, ends = [ops.start_ns[mine]], [ops.end_ns[mine]]
    if frames is not None:
        calls = np.isin(frames.name, names)
        starts.append(frames.start_ns[calls])
        ends.append(frames.end_ns[calls])
    return np.concatenate(starts), np.concatenate(ends)


def _activities(
    ops: Ops, strings: Strings, split: list[streams.Stream], work: list[Work]
) -> Activities:
    """All streams' work in one table, and what there is to say of it, each thing once."""
    findings: dict[str, Finding] = {}
    for found in (f for w in work for f in w.findings):
        before = findings.get(found.code, found)
        both = None if found.count is None else (before.count or 0) + found.count
        findings[found.code] = found if before is found else dataclasses.replace(found, count=both)
    if not any(len(w) for w in work):
        return Activities(
            Kernels.empty(), Lanes.empty(), tuple(findings.values()), grounds=work[0].grounds
        )
    lanes = Lanes(
        np.array([s.device for s in split]),
        np.array([s.stream for s in split]),
        np.array([strings.id(f"device {s.device} stream {s.stream}") for s in split], np.int32),
    )
    kernels = [
        _kernels(ops, s.row, w, lane) for lane, (s, w) in enumerate(zip(split, work, strict=True))
    ]
    columns = zip(*(table.columns() for table in kernels), strict=True)
    merged = Kernels(**{parts[0][0]: np.concatenate([p[1] for p in parts]) for parts in columns})
    order = np.argsort(merged.start_ns, kind="stable")
    return Activities(merged.take(order), lanes, tuple(findings.values()), grounds=_together(work))


def _together(work: list[Work]) -> InferenceBasis | None:
    """The grounds of the stream with most operators, with what was counted on all."""
    grounds = work[0].grounds
    counted = [w.grounds.counts for w in work if w.grounds is not None]
    if grounds is None or len(counted) < 2:
        return grounds
    total = {name: sum(c.get(name, 0) for c in counted) for name in counted[0]}
    names = dict.fromkeys(n for w in work if w.grounds is not None for n in w.grounds.others)
    counts = {**total, "shapes": counted[0]["shapes"]}
    return dataclasses.replace(grounds, counts=counts, others=tuple(names))


def _kernels(ops: Ops, rows: I64, work: Work, lane: int) -> Kernels:
    n = len(work)
    none = np.full(n, NONE, np.int32)
    row = rows[work.row]
    return Kernels(
        name=ops.name[row],
        kind=work.activity,
        communication=np.zeros(n, np.bool_),
        start_ns=work.start_ns,
        end_ns=work.start_ns + work.duration_ns,
        lane=np.full(n, lane, np.int32),
        launch=none,
        op=row.astype(np.int32),
        step=none.copy(),
        config=none.copy(),
        correlation=np.full(n, NONE, np.int64),
        bytes=np.full(n, MISSING),
        evidence=work.evidence,
        start_bound_ns=work.start_bound_ns,
        duration_bound_ns=work.duration_bound_ns,
        event=none.copy(),
    )
