"""Infer one stream's kernels from the times between its event pairs, in five phases.

``prior``: bounds if every operator may launch that its name allows. ``cautious``: who launches,
by evidence, and bounds that hold wherever in an operator the launch was. ``likely``: a second
solution that assumes one launch segment per kernel, for estimates inside those bounds. ``place``:
limits and a draft of each kernel. ``lengths``: durations of hidden kernels from their visible
instances. docs/internals/inference.md says why each holds. Times are int64 ns.
"""

from __future__ import annotations

import functools

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.inference.device_timeline import (
    calibration,
    duration_catalogue,
    elapsed_kind,
    event_cost,
    foreign_waits,
    kernel_placement,
    late_ends,
    launching_operators,
    other_recordings,
    recorded_launches,
    rounding_errors,
    solver,
    stream_findings,
    stream_solution,
    unknown_work,
    unmeasured_latency,
)
from tb_privateuse1.inference.device_timeline.kernel_placement import LaunchSites
from tb_privateuse1.inference.device_timeline.phase_results import (
    Cautious,
    Lengths,
    Likely,
    Placement,
    Prior,
    StreamInput,
)
from tb_privateuse1.inference.device_timeline.self_test import inside_capture
from tb_privateuse1.inference.device_timeline.solver import Solution
from tb_privateuse1.inference.device_timeline.timeline_inputs import StreamKernels
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.model import BOUND, KERNEL, MEMCPY, MISSING
from tb_privateuse1.trace.statistics import ERROR_RATE
from tb_privateuse1.trace.table import Bools

_ALMOST_NONE = 0.01
"""The share of contradictions above which the cost of an event is in doubt."""


def place_kernels(stream: StreamInput) -> StreamKernels:
    """Return the kernels of a stream, or no work and the reason in a finding."""
    stream, prior = _with_slower_events(stream, solve_prior(stream))
    stream, prior = _with_refuted_names(stream, prior)
    refused = stream_findings.contradicted(prior.solution, stream)
    if refused is not None:
        return refused
    cautious, behind = solve_cautious(stream, prior), prior.behind
    stream = unmeasured_latency.bound_by_waits(stream, cautious.blocking)
    del prior  # its bounds take a tenth of the memory
    likely = solve_likely(stream, behind, cautious)
    refused = stream_findings.contradicted(likely.solution, stream)
    if refused is not None and not len(cautious.sites.op):
        return refused
    placement = draft_placement(stream, cautious, likely)
    lengths = estimate_lengths(stream, cautious, likely, placement)
    return _work(stream, cautious, likely, placement, lengths)


def solve_prior(stream: StreamInput) -> Prior:
    """Return the solution by the operators' names alone.

    Assumes that an operator outside ``stream.may`` launches nothing, and that no operator blocks.
    The names allow too much rather than too little, so that the bounds hold but are wide. Evidence
    needs them: only where the device is surely behind is the time between events device time.
    """
    launching = recorded_launches.launching_segments(stream.known, stream.events, stream.may)
    nobody = np.zeros(len(stream.ops), np.bool_)
    solved = stream_solution.solve_stream(stream, launching, nobody, stream.c)
    solution, events = solved.solution, solved.events
    prompt = events.host_high_ns + stream.c.latency_ns + stream.c.jitter_ns
    return Prior(solution, events, solution.bounds.low > prompt)


def solve_cautious(stream: StreamInput, prior: Prior) -> Cautious:
    """Return who launches by evidence, bounds that hold, and the segments that hold work.

    Assumes that the same operator on the same shapes launches always or never. Any own segment of
    an operator that may launch may hold its work: so the bounds do not rest on the choice of
    ``use``, which only the estimates need.
    """
    ops, strings, c = stream.ops, stream.strings, stream.c
    may, blocking = _correct_prior(stream, prior)
    launching = recorded_launches.launching_segments(stream.known, stream.events, may)
    dropped = stream_solution.refuted_claims(prior.solution, prior.events, stream)
    solved = stream_solution.solve_stream(stream, launching, blocking, c, dropped=dropped)
    solution, events = solved.solution, solved.events
    bounds, spans = solution.bounds, solution.spans
    batched = late_ends.works_in_batches(
        events, blocking, bounds, unmeasured_latency.without_shift(stream)
    )
    segments = launching_operators.own_segments(events, may)
    if stream.known is not None:
        copies = launching_operators.copy_operators(ops, strings)
        use, sites = recorded_launches.launch_sites(stream.known, segments, copies)
        return Cautious(
            may, blocking, solution, events, segments, use, sites, solved.estimate, batched
        )
    surely, none = launching_operators.classify_segments(segments, events, bounds, spans, c)
    foreign = launching_operators.custom_operators(ops, strings)
    use = launching_operators.choose_segments(
        stream.may, may, events, ops, stream.places, segments, surely, none, foreign
    )
    # Device time beyond that of the operators inside belongs to the operator itself.
    unexplained = launching_operators.operators_with_unexplained_time(
        ops, events, stream.tree, bounds, spans, c
    )
    use |= launching_operators.closing_segments_of(segments, use, unexplained)
    copies = launching_operators.copy_operators(ops, strings)[segments.op[use]]
    sites = LaunchSites(
        segments.op[use], segments.first[use], segments.last[use], surely[use], copies
    )
    return Cautious(may, blocking, solution, events, segments, use, sites, solved.estimate, batched)


def solve_likely(stream: StreamInput, behind: Bools, cautious: Cautious) -> Likely:
    """Return the likely device time of each event, and the bounds that are stated.

    Assumes launches at the sites only, the cost of an event as ranges under backlog show it, and
    an idle device where several operators in a row kept the host's pace. These may be wrong, so
    that the estimates are clipped into the cautious bounds. The more events contradict the
    assumptions, the less is used of them.
    """
    ops, c = stream.ops, stream.c
    launching = mask_of(cautious.sites.first, len(stream.events))
    if stream.known is not None:
        launching = stream.known.launching
    idle = solver.host_paced(stream.events, ops, c)
    shown = event_cost.event_cost(ops, cautious.events, cautious.may, behind, c)
    likely_c = calibration.with_event_cost(c, shown)
    blocking = cautious.blocking | idle
    solve = functools.partial(
        stream_solution.solve_stream,
        stream,
        launching,
        blocking,
        likely=True,
        dropped=cautious.solution.dropped,
    )
    solved = solve(likely_c)
    wrong = _newly_lost(solved.solution, cautious.solution)
    doubtful = wrong > _ALMOST_NONE * solved.solution.claims
    if doubtful:
        # A wrong cost of an event contradicts itself all over the trace, not at a few claims.
        wide = solve(c)
        if 2 * _newly_lost(wide.solution, cautious.solution) < wrong:
            solved, likely_c = wide, c
    bounds = certain = cautious.solution.bounds
    consistent = elapsed_kind.consistent(len(solved.solution.dropped), solved.solution.claims)
    if consistent:
        solution = solved.estimate()
        likely = np.clip(solution.bounds.likely, certain.low, certain.high)
        within = replace(solution.bounds, likely=likely)
    else:
        solution = solved.solution
        within = cautious.estimate().bounds
    # Statistics of rounding need a cost of events that fits.
    narrowed = consistent and not doubtful
    if narrowed and stream.measured is None:
        bounds = rounding_errors.narrow_bounds(stream, solution, certain, likely, likely_c)
        within = replace(within, likely=bounds.likely)
    return Likely(solution, solved.events, likely_c, within, bounds, narrowed)


def _newly_lost(solution: Solution, before: Solution) -> int:
    """Return the number of claims that a phase lost beside those that an earlier one did.

    How many events cross says little: one wrong claim moves all up to the reason against it.
    """
    return solution.lost - len(before.dropped)


def draft_placement(stream: StreamInput, cautious: Cautious, likely: Likely) -> Placement:
    """Return limits of start and length per kernel, and their first estimates.

    Assumes one kernel per site, on the device between the site's two events. The draft does not
    use other instances: it is what these are found by.
    """
    events = likely.events if likely.narrowed else cautious.events
    limits = kernel_placement.placement_limits(
        cautious.sites,
        cautious.blocked,
        events,
        stream.ops,
        likely.bounds,
        cautious.solution.spans,
        stream.c,
    )
    draft = kernel_placement.estimate_placement(
        limits, cautious.sites, likely.events, likely.within, likely.solution.spans, likely.c
    )
    captures = inside_capture(stream.ops, stream.strings)[cautious.sites.op]
    return Placement(limits, draft, captures)


def estimate_lengths(
    stream: StreamInput,
    cautious: Cautious,
    likely: Likely,
    placement: Placement,
) -> Lengths:
    """Return the kernels in order, without overlap, with final estimates and limits.

    Assumes that the same work takes as long elsewhere in the trace, and within 5 % in other
    recordings. Instances under backlog give the durations of hidden ones. Work of known end and
    length shows where operators launch, which narrows the starts of the rest.
    """
    sites, events = cautious.sites, likely.events
    instances, visible = _instances(stream, cautious, placement)
    doubts = late_ends.doubtful_ends(
        placement.limits, instances, sites, events, cautious.solution.bounds, stream.c,
        stream.places[sites.op],
    )  # fmt: skip
    instances = replace(
        instances, seen=instances.seen & ~doubts.ends, low=np.where(doubts.ends, 0, instances.low)
    )
    instances, helped, names = other_recordings.add_recordings(
        instances, sites.op, sites.last, stream.keys, stream.ops, stream.strings, stream.others
    )
    typical = duration_catalogue.typical_durations(instances).head(len(visible))
    limits, c = placement.limits, likely.c
    shares = None
    if stream.known is None:
        shares = kernel_placement.launch_share(placement.draft, sites, typical.length, events, c)
    if shares is not None:
        limits = kernel_placement.placement_limits(
            sites, cautious.blocked, events, stream.ops, likely.bounds, cautious.solution.spans,
            stream.c, shares,
        )  # fmt: skip
    placed = kernel_placement.estimate_placement(
        limits, sites, events, likely.within, likely.solution.spans, c, shares
    )
    placed = replace(placed, seen=visible)
    placed, typical = late_ends.distrust_preempted(
        placed, typical, doubts, batches=bool(cautious.batched.any())
    )
    late = kernel_placement.lateness(placement.draft, sites, typical.length, events, c)
    placed = kernel_placement.serialize(kernel_placement.fill_lengths(placed, typical))
    placed = kernel_placement.allow_late_starts(placed, late)
    return Lengths(placed, helped, names)


def _with_slower_events(stream: StreamInput, prior: Prior) -> tuple[StreamInput, Prior]:
    """Return both, with events that cost more if cheap ones were assumed and contradict claims.

    A cost that nothing shows is the weaker assumption: it goes before half of the claims do.
    """
    slower, wrong = stream.c.slower, prior.solution.lost
    if slower is None or wrong <= _ALMOST_NONE * prior.solution.claims:
        return stream, prior
    slow_stream = replace(stream, c=slower)
    again = solve_prior(slow_stream)
    return (slow_stream, again) if 2 * again.solution.lost < wrong else (stream, prior)


def _with_refuted_names(stream: StreamInput, prior: Prior) -> tuple[StreamInput, Prior]:
    """Return both, with the operators that may launch though their names deny it.

    A backend may implement what torch composes of others (``isfinite``) by a kernel of its own.
    """
    if stream.known is not None:
        return stream, prior
    wrong = prior.solution.refuted.copy()
    wrong[stream_solution.refuted_claims(prior.solution, prior.events, stream)] = True
    may = launching_operators.overrule_names(
        stream.may, stream.ops, stream.strings, stream.events, wrong
    )
    if (may == stream.may).all():
        return stream, prior
    corrected = replace(stream, may=may)
    return corrected, solve_prior(corrected)


def _correct_prior(stream: StreamInput, prior: Prior) -> tuple[Bools, Bools]:
    """Return which operators launch and which block, by what the prior's bounds show of them."""
    ops, c, places, events = stream.ops, stream.c, stream.places, prior.events
    bounds, spans = prior.solution.bounds, prior.solution.spans
    segments = launching_operators.own_segments(events, stream.may)
    surely, none = launching_operators.classify_segments(segments, events, bounds, spans, c)
    unexplained = stream.may & launching_operators.operators_with_unexplained_time(
        ops, events, stream.tree, bounds, spans, c
    )
    may = stream.may
    if stream.known is None:
        may = launching_operators.correct_by_evidence(
            may, ops, places, segments, surely, none, unexplained
        )
    # Whether a copy waits is no matter of its place; a paused host looks like a wait.
    blocking = launching_operators.blocking_operators(
        ops, stream.keys, stream.strings, may, events, bounds, c
    )
    return may, blocking


def _instances(
    stream: StreamInput, cautious: Cautious, placement: Placement
) -> tuple[duration_catalogue.Instances, Bools]:
    """Return each kernel as an instance of its operator, and whose own lengths are visible."""
    segments, draft = cautious.segments, placement.draft
    key, name = (
        duration_catalogue.segment_keys(group, segments.op, segments.last, cautious.use)
        for group in (stream.keys, stream.ops.name.astype(np.int64))
    )
    shaped = stream.ops.shapes[cautious.sites.op] >= 0
    visible = duration_catalogue.trusted_instances(key, shaped, placement.limits.seen, draft.seen)
    # The capture's own work says nothing of the run's kernels.
    evidence = visible & ~placement.captures
    instances = duration_catalogue.Instances(
        key, name, shaped, draft.length, draft.length_low, draft.length_high, evidence, draft.start
    )
    return instances, visible


def _work(
    stream: StreamInput,
    cautious: Cautious,
    likely: Likely,
    placement: Placement,
    lengths: Lengths,
) -> StreamKernels:
    """Return the result of all phases."""
    sites, solution, placed = cautious.sites, cautious.solution, lengths.placed
    start_bound, length_bound = kernel_placement.placement_errors(placed, stream.c)
    length_bound = np.where(foreign_waits.possible_waits(stream, placed), MISSING, length_bound)
    unbounded = solution.unknown[sites.first] | solution.unknown[sites.last]
    unbounded |= cautious.batched.any()
    start_bound = np.where(unbounded, MISSING, start_bound)
    counts = {
        **stream_findings.solution_counts(solution, len(stream.events)),
        "elsewhere": lengths.helped,
        "measured_marks": 0 if stream.measured is None else len(stream.events),
    }
    basis = replace(
        stream.basis,
        constants=likely.c.constants,
        counts={**stream.basis.counts, **counts},
        others=lengths.names,
        dropped=stream_findings.dropped_rows(solution, stream.events),
    )
    work = StreamKernels(
        sites.op, placed.start, placed.length, start_bound, length_bound,
        placed.evidence, np.where(cautious.blocked, MEMCPY, KERNEL).astype(np.int8), placed.guessed,
        stream.c.latency_bound_ns,
    )  # fmt: skip
    own = ~placement.captures
    work = unknown_work.add_unknown_work(work, stream, cautious, likely)
    lost = unbounded.all() and bool((work.evidence == BOUND).all())
    if lost and 0 < len(work) <= ERROR_RATE * len(stream.ops):
        return StreamKernels.none(elapsed_kind.nothing_placed(len(stream.ops)), basis)
    findings = stream_findings.batched_finding(
        int(cautious.batched.sum())
    ) or stream_findings.unbounded_finding(unbounded[own])
    return replace(work, findings=findings, basis=basis)
