"""Infer the device timeline from the elapsed device times of operators (ProfilerStubs).

The kind of the elapsed times is found out first. Sums of kernel durations only need a queue.
Times between events on a stream need the pipeline of ``_events``: marks, what is quiet, bounds
from both sides, who launched, where the work ran. Anything else is refused with the reason.
Each stage is a file of its own; docs/inference.md says why each holds.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tb_privateuse1 import intervals
from tb_privateuse1.findings import DEVICE, Finding
from tb_privateuse1.grounds import Grounds
from tb_privateuse1.infer.base import Activities, Strings, primes
from tb_privateuse1.infer.timeline import (
    bounds,
    calibrate,
    catalogue,
    kind,
    launchers,
    marks,
    placement,
    queue,
)
from tb_privateuse1.infer.timeline.base import Calibration, Marks
from tb_privateuse1.read.base import Sidecar
from tb_privateuse1.trace import (
    EVENTS,
    I8,
    I64,
    KERNEL,
    MEMCPY,
    MISSING,
    NONE,
    Bools,
    Frames,
    Kernels,
    Lanes,
    Ops,
)

_EVENT_DOUBT_NS = 15
"""How far the likely time of a mark may be from what the trace tells."""

_HOPELESS = 0.8
"""The share of marks at which the likely assumptions contradict each other too much."""

_UNBOUNDED = 0.1
"""A share of kernels without a bound that is worth a finding."""


def build(
    ops: Ops, strings: Strings, sidecar: Sidecar | None, frames: Frames | None = None
) -> Activities | None:
    """Inferred kernels on one lane, or None where nothing can be inferred.

    ``frames`` are the Python frames, of which calls that wait for the device are of use.
    """
    if sidecar is None:
        return None
    facts = sidecar.facts
    found = kind.detect(ops, strings, facts.get("elapsed_kind"), facts.get("elapsed_unit"))
    grounds = Grounds(found.name, found.evidence)
    if found.finding is not None or found.name == "none":
        return _refused(found.finding, grounds)
    plain = marks.build(ops)
    may = launchers.may_launch(ops, strings)
    quiet = marks.quiet_segments(plain, launchers.loud(plain, may))
    c = calibrate.build(ops, sidecar, found.resolution_ns, plain, quiet)
    counts = {"shapes": int((ops.shapes >= 0).sum())}
    grounds = dataclasses.replace(grounds, constants=c.constants, counts=counts)
    if found.name == "kernel_sum":
        return _queued(ops, strings, grounds, c)
    return _events(ops, strings, plain, may, _waits(ops, strings, frames), c, grounds)


def _events(
    ops: Ops,
    strings: Strings,
    plain: Marks,
    may: Bools,
    waits: tuple[I64, I64],
    c: Calibration,
    grounds: Grounds,
) -> Activities:
    tree, kept = marks.tree(plain, ops)
    nobody = np.zeros(len(ops), np.bool_)
    keys = launchers.keys(ops)

    def solve(loud: Bools, blocking: Bools, c: Calibration) -> tuple[bounds.Solution, Marks]:
        quiet = marks.quiet_segments(plain, loud)
        order = marks.preempted(plain, ops, quiet)
        pins = bounds.pins(order, blocking, waits, c)
        solved = bounds.solve(order, tree, kept, quiet, ops.elapsed_ns, pins, c)
        if solved.crossing and (pins.earliest > bounds.NEVER).any():
            # A wait returns late where the host's cores are busy: then it pins nothing.
            loose = bounds.without_waits(pins)
            free = bounds.solve(order, tree, kept, quiet, ops.elapsed_ns, loose, c)
            pins = bounds.without_waits(pins, pins.earliest > free.bounds.high[pins.mark])
            solved = bounds.solve(order, tree, kept, quiet, ops.elapsed_ns, pins, c)
            if free.crossing < solved.crossing:
                solved = free
        return solved, order

    # By their names alone, who may launch; then by what the bounds say of them.
    prior = may
    solved, order = solve(launchers.loud(plain, may), nobody, c)
    refusal = kind.contradiction(solved.crossing, len(order))
    if refusal is not None:
        return _refused(refusal, _host(refusal, grounds, solved, len(order)))
    behind = solved.bounds.low > order.host_high_ns + c.latency_ns + c.jitter_ns
    own = launchers.segments(order, may)
    surely, none = launchers.working(own, order, solved.bounds, solved.spans, c)
    may = launchers.by_evidence(may, ops, keys, own, surely, none)
    blocking = launchers.blocking(ops, keys, strings, may, order, solved.bounds, c)

    # Cautiously, work may lie in any segment of theirs: bounds that hold.
    solved, order = solve(launchers.loud(plain, may), blocking, c)
    own = launchers.segments(order, may)
    surely, none = launchers.working(own, order, solved.bounds, solved.spans, c)
    use = launchers.chosen(prior, may, order, ops, keys, own, surely, none)
    # What the device did in there cannot all be that of the operators inside.
    use |= launchers.unexplained(ops, order, tree, own, use, solved.bounds, solved.spans, c)
    copies = launchers.copies(ops, strings)[own.op[use]]
    where = placement.Where(own.op[use], own.first[use], own.last[use], surely[use], copies)
    blocked = blocking[where.op]
    placed = placement.limits(where, blocked, order, ops, solved.bounds, solved.spans, c)

    # Likely, it lies where a launch was seen or fits best: estimates inside those bounds.
    loud = np.zeros(len(order), np.bool_)
    loud[where.first] = True
    idle = bounds.paced(plain, ops, c)
    event, ranges = calibrate.event_cost(ops, order, may, behind, c)
    likely_c = calibrate.with_event_cost(c, event, _EVENT_DOUBT_NS, ranges)
    guess, order = solve(loud, blocking | idle, likely_c)
    refusal = kind.contradiction(guess.crossing, len(order))
    if refusal is not None and not len(where.op):
        return _refused(refusal, _host(refusal, grounds, guess, len(order)))
    within = solved.bounds
    if guess.crossing <= _HOPELESS * len(order):
        likely = np.clip(guess.bounds.likely, within.low, within.high)
        within = dataclasses.replace(guess.bounds, likely=likely)
    drafted = placement.estimate(placed, where, order, within, guess.spans, likely_c)
    ours = _inside(ops, primes(ops, strings))[where.op]
    key, name = (
        catalogue.keyed(group, own.op, own.last, use) for group in (keys, ops.name.astype(np.int64))
    )
    shaped = ops.shapes[where.op] >= 0
    seen = catalogue.trusted(key, shaped, placed.seen, drafted.seen)
    usual = catalogue.usual(
        key, name, shaped, drafted.length, drafted.length_low, drafted.length_high, seen & ~ours
    )
    share = placement.launch_share(drafted, where, usual.length, order, likely_c)
    placed = placement.estimate(placed, where, order, within, guess.spans, likely_c, share)
    placed = dataclasses.replace(placed, seen=seen)
    placed = placement.serialise(placement.with_lengths(placed, usual))

    start_bound, length_bound = placement.errors(placed, c)
    unbounded = solved.unknown[where.first] | solved.unknown[where.last]
    start_bound = np.where(unbounded, MISSING, start_bound)
    kernels = _kernels(
        ops, where.op, placed.start, placed.length, start_bound, length_bound,
        placed.evidence, np.where(blocked, MEMCPY, KERNEL).astype(np.int8),
    )  # fmt: skip
    kernels = kernels.take(~ours)
    grounds = dataclasses.replace(
        grounds,
        constants=likely_c.constants,
        counts={**grounds.counts, **_counts(solved, len(order))},
    )
    return Activities(kernels, _lane(strings), _unbounded(unbounded[~ours]), grounds=grounds)


def _inside(ops: Ops, outer: I64) -> Bools:
    """The operators inside some ranges, on their threads."""
    at = intervals.innermost(
        ops.thread[outer], ops.start_ns[outer], ops.end_ns[outer], ops.thread, ops.start_ns
    )
    inside: Bools = at >= 0
    return inside


def _counts(solved: bounds.Solution, marks: int) -> dict[str, int]:
    return {
        "marks": marks,
        "anchors": int(solved.anchors.sum()),
        "refuted_anchors": int(solved.refuted.sum()),
        "late_stamps": solved.relaxed,
        "crossing": solved.crossing,
    }


def _queued(ops: Ops, strings: Strings, grounds: Grounds, c: Calibration) -> Activities:
    row, start, length, start_bound, length_bound = queue.build(ops, c)
    seen = np.full(len(row), EVENTS, np.int8)
    kernels = _kernels(
        ops, row, start, length, start_bound, length_bound, seen, np.full(len(row), KERNEL, np.int8)
    )
    message = f"{grounds.evidence} So they are taken as kernel durations."
    hint = "Starts are inferred from the host's launches and the order of the queue."
    finding = Finding("elapsed_kernel_sum", message, hint, severity="info", affects=DEVICE)
    return Activities(kernels, _lane(strings), (finding,), grounds=grounds)


def _host(found: Finding, grounds: Grounds, solved: bounds.Solution, marks: int) -> Grounds:
    """The grounds of a refusal because no stream explains the elapsed times."""
    counts = {**grounds.counts, **_counts(solved, marks)}
    return dataclasses.replace(grounds, kind="host", evidence=found.message, counts=counts)


def _refused(finding: Finding | None, grounds: Grounds) -> Activities:
    found = () if finding is None else (finding,)
    return Activities(Kernels.empty(), Lanes.empty(), found, grounds=grounds)


def _unbounded(unbounded: Bools) -> tuple[Finding, ...]:
    count = int(unbounded.sum())
    if count <= _UNBOUNDED * len(unbounded):
        return ()
    message = (
        f"The starts of {count} of {len(unbounded)} kernels are a least estimate: nothing in the "
        "trace tells how far the device was behind the host."
    )
    hint = "Wrap a synchronize of the device in record_function inside a recorded step."
    return (Finding("backlog_unknown", message, hint, count, affects=("totals", "steps")),)


def _waits(ops: Ops, strings: Strings, frames: Frames | None) -> tuple[I64, I64]:
    """Host ranges that wait for the device, by their names."""
    names = [i for i, text in enumerate(strings.all) if "synchronize" in text.lower()]
    mine = np.isin(ops.name, names)
    starts, ends = [ops.start_ns[mine]], [ops.end_ns[mine]]
    if frames is not None:
        calls = np.isin(frames.name, names)
        starts.append(frames.start_ns[calls])
        ends.append(frames.end_ns[calls])
    return np.concatenate(starts), np.concatenate(ends)


def _kernels(
    ops: Ops,
    row: I64,
    start: I64,
    length: I64,
    start_bound: I64,
    length_bound: I64,
    evidence: I8,
    activity: I8,
) -> Kernels:
    n = len(row)
    none = np.full(n, NONE, np.int32)
    return Kernels(
        name=ops.name[row],
        kind=activity,
        communication=np.zeros(n, np.bool_),
        start_ns=start,
        end_ns=start + length,
        lane=np.zeros(n, np.int32),
        launch=none,
        op=row.astype(np.int32),
        step=none.copy(),
        correlation=np.full(n, NONE, np.int64),
        bytes=np.full(n, MISSING),
        evidence=evidence,
        start_bound_ns=start_bound,
        duration_bound_ns=length_bound,
        event=none.copy(),
    )


def _lane(strings: Strings) -> Lanes:
    name = strings.id("device 0 stream 0")
    return Lanes(np.array([0]), np.array([0]), np.array([name], np.int32))
