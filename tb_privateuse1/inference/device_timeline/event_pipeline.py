"""Elapsed times between marks on one stream -> kernels.

Marks, what is quiet, bounds from both sides, who launched, where the work ran: first cautiously,
so that the bounds hold, then as it likely was. docs/internals/inference.md says why each step
holds.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tb_privateuse1.i18n import say
from tb_privateuse1.inference.base import Strings, priming_ranges
from tb_privateuse1.inference.device_timeline import (
    calibration,
    duration_catalogue,
    elapsed_kind,
    kernel_placement,
    launching_operators,
    marks,
    other_recordings,
    rounding_errors,
    solver,
    sync_points,
)
from tb_privateuse1.inference.device_timeline.base import NEVER, Bounds, Calibration, Marks, Work
from tb_privateuse1.inference.device_timeline.stream_joins import FAR, Joins
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.inference_basis import InferenceBasis
from tb_privateuse1.trace.model import KERNEL, MEMCPY, MISSING, Ops
from tb_privateuse1.trace.table import I64, Bools

_EVENT_DOUBT_NS = 15
"""How far the likely time of a mark may be from what the trace tells."""

_HOPELESS = 0.8
"""The share of marks at which the likely assumptions contradict each other too much."""

_ALMOST_NONE = 0.01
"""The share of marks up to which they contradict each other too little to matter."""

_UNBOUNDED = 0.1
"""A share of kernels without a bound that is worth a finding."""


def place_kernels(
    ops: Ops,
    strings: Strings,
    plain: Marks,
    may: Bools,
    joins: Joins | None,
    waits: tuple[I64, I64],
    c: Calibration,
    grounds: InferenceBasis,
    others: other_recordings.Others | None = None,
) -> Work:
    """The work on a stream, by the marks ``plain`` of its operators.

    ``may``: operators that may launch, by their names. ``joins``: where the stream may
    have waited for others, if there are any. ``waits``: host ranges that wait for the device, and
    return soon after its last work unless another stream may have been the last.
    """
    tree, kept = marks.build_tree(plain, ops)
    nobody = np.zeros(len(ops), np.bool_)
    keys = launching_operators.operator_keys(ops)

    def solve(
        loud: Bools, blocking: Bools, c: Calibration, likely: bool = False
    ) -> tuple[solver.Solution, Marks]:
        quiet = marks.quiet_segments(plain, loud)
        order = marks.make_room_for_preemption(plain, ops, quiet)
        found = sync_points.blocking_pins(order, blocking, waits, c)
        until = None
        if joins is not None:
            # What was waited for last may have run on another stream.
            found = sync_points.without_waits(found)
            until = joins.likely_ns if likely else joins.latest_ns
            quiet &= until < FAR
            found = sync_points.join_pins(found, until) if likely else found
            found = sync_points.limit_pins(found, joins.likely_by_ns if likely else joins.by_ns)
            found = sync_points.idle_pins(found, order, waits, until, c)
        solved = solver.solve(order, tree, kept, quiet, ops.elapsed_ns, found, c, until)
        if solved.crossing and (found.earliest > NEVER).any():
            # A wait returns late where the host's cores are busy: then it found nothing.
            loose = sync_points.without_waits(found)
            free = solver.solve(order, tree, kept, quiet, ops.elapsed_ns, loose, c, until)
            found = sync_points.without_waits(found, found.earliest > free.bounds.high[found.mark])
            solved = solver.solve(order, tree, kept, quiet, ops.elapsed_ns, found, c, until)
            if free.crossing < solved.crossing:
                solved = free
        return solved, order

    # By their names alone, who may launch; then by what the bounds say of them.
    prior = may
    solved, order = solve(launching_operators.launching_segments(plain, may), nobody, c)
    refusal = elapsed_kind.contradiction(solved.crossing, len(order))
    if refusal is not None:
        return Work.none(refusal, _host(refusal, grounds, solved, len(order)))
    behind = solved.bounds.low > order.host_high_ns + c.latency_ns + c.jitter_ns
    own = launching_operators.own_segments(order, may)
    surely, none = launching_operators.classify_segments(own, order, solved.bounds, solved.spans, c)
    left = may & launching_operators.operators_with_rest(
        ops, order, tree, solved.bounds, solved.spans, c
    )
    may = launching_operators.correct_by_evidence(may, ops, keys, own, surely, none, left)
    blocking = launching_operators.blocking_operators(
        ops, keys, strings, may, order, solved.bounds, c
    )

    # Cautiously, work may lie in any segment of theirs: bounds that hold.
    solved, order = solve(launching_operators.launching_segments(plain, may), blocking, c)
    own = launching_operators.own_segments(order, may)
    surely, none = launching_operators.classify_segments(own, order, solved.bounds, solved.spans, c)
    use = launching_operators.choose_segments(
        prior,
        may,
        order,
        ops,
        keys,
        own,
        surely,
        none,
        launching_operators.custom_operators(ops, strings),
    )
    # What the device did in there cannot all be that of the operators inside.
    left = launching_operators.operators_with_rest(ops, order, tree, solved.bounds, solved.spans, c)
    use |= launching_operators.unexplained_rests(own, use, left)
    copies = launching_operators.copy_operators(ops, strings)[own.op[use]]
    where = kernel_placement.Where(own.op[use], own.first[use], own.last[use], surely[use], copies)
    blocked = blocking[where.op]
    placed = kernel_placement.placement_limits(
        where, blocked, order, ops, solved.bounds, solved.spans, c
    )

    # Likely, it lies where a launch was seen or fits best: estimates inside those bounds.
    loud = np.zeros(len(order), np.bool_)
    loud[where.first] = True
    idle = solver.host_paced(plain, ops, c)
    event, ranges = calibration.event_cost(ops, order, may, behind, c)
    likely_c = calibration.with_event_cost(c, event, _EVENT_DOUBT_NS, ranges)
    guess, order = solve(loud, blocking | idle, likely_c, likely=True)
    refusal = elapsed_kind.contradiction(guess.crossing, len(order))
    if refusal is not None and not len(where.op):
        return Work.none(refusal, _host(refusal, grounds, guess, len(order)))
    within = closer = solved.bounds
    if guess.crossing <= _HOPELESS * len(order):
        likely = np.clip(guess.bounds.likely, within.low, within.high)
        within = dataclasses.replace(guess.bounds, likely=likely)
    if guess.crossing <= _ALMOST_NONE * len(order):
        width = np.maximum(likely - solved.bounds.low, solved.bounds.high - likely)
        elapsed = np.where(ops.elapsed_ns == MISSING, 0, ops.elapsed_ns + c.resolution_ns // 2)
        near = (
            rounding_errors.rounding_deviation(tree, guess.spans, elapsed, width) + c.jitter_ns // 2
        )
        low = np.maximum(solved.bounds.low, likely - near)
        high = np.minimum(solved.bounds.high, likely + near)
        closer = Bounds(low, high, likely)
        placed = kernel_placement.placement_limits(
            where, blocked, order, ops, closer, solved.spans, c
        )
    drafted = kernel_placement.estimate_placement(
        placed, where, order, within, guess.spans, likely_c
    )
    ours = _inside(ops, priming_ranges(ops, strings))[where.op]
    key, name = (
        duration_catalogue.segment_keys(group, own.op, own.last, use)
        for group in (keys, ops.name.astype(np.int64))
    )
    shaped = ops.shapes[where.op] >= 0
    seen = duration_catalogue.trusted_instances(key, shaped, placed.seen, drafted.seen)
    own_lengths = duration_catalogue.Instances(
        key, name, shaped, drafted.length, drafted.length_low, drafted.length_high, seen & ~ours
    )
    known, helped, names = other_recordings.add_recordings(
        own_lengths, where.op, where.last, keys, ops, strings, others
    )
    usual = duration_catalogue.usual_durations(known).first(len(key))
    shares = kernel_placement.launch_share(drafted, where, usual.length, order, likely_c)
    if shares is not None:
        placed = kernel_placement.placement_limits(
            where, blocked, order, ops, closer, solved.spans, c, shares
        )
    placed = kernel_placement.estimate_placement(
        placed, where, order, within, guess.spans, likely_c, shares
    )
    placed = dataclasses.replace(placed, seen=seen)
    placed, usual = kernel_placement.distrust_held_up(placed, where, usual, order, solved.bounds, c)
    placed = kernel_placement.serialize(kernel_placement.fill_lengths(placed, usual))

    start_bound, length_bound = kernel_placement.placement_errors(placed, c)
    unbounded = solved.unknown[where.first] | solved.unknown[where.last]
    start_bound = np.where(unbounded, MISSING, start_bound)
    grounds = dataclasses.replace(
        grounds,
        constants=likely_c.constants,
        counts={**grounds.counts, **_counts(solved, len(order)), "elsewhere": helped},
        others=names,
    )
    found = Work(
        where.op, placed.start, placed.length, start_bound, length_bound,
        placed.evidence, np.where(blocked, MEMCPY, KERNEL).astype(np.int8),
    )  # fmt: skip
    return dataclasses.replace(
        found.take(~ours),
        findings=_unbounded(unbounded[~ours]),
        grounds=grounds,
    )


def _inside(ops: Ops, outer: I64) -> Bools:
    """The operators inside some ranges, on their threads."""
    at = intervals.innermost(
        ops.thread[outer], ops.start_ns[outer], ops.end_ns[outer], ops.thread, ops.start_ns
    )
    inside: Bools = at >= 0
    return inside


def _counts(solved: solver.Solution, marks: int) -> dict[str, int]:
    return {
        "marks": marks,
        "anchors": int(solved.anchors.sum()),
        "refuted_anchors": int(solved.refuted.sum()),
        "late_stamps": solved.relaxed,
        "crossing": solved.crossing,
    }


def _host(
    found: Finding, grounds: InferenceBasis, solved: solver.Solution, marks: int
) -> InferenceBasis:
    """The grounds of a refusal because no stream explains the elapsed times."""
    counts = {**grounds.counts, **_counts(solved, marks)}
    return dataclasses.replace(grounds, kind="host", evidence=found.message, counts=counts)


def _unbounded(unbounded: Bools) -> tuple[Finding, ...]:
    count = int(unbounded.sum())
    if count <= _UNBOUNDED * len(unbounded):
        return ()
    message = say(
        "The starts of {count} of {total} kernels are a least estimate: nothing in the "
        "trace tells how far the device was behind the host.",
        count=count,
        total=len(unbounded),
    )
    hint = say("Wrap a synchronize of the device in record_function inside a recorded step.")
    return (Finding("backlog_unknown", message, hint, count, affects=("totals", "steps")),)
