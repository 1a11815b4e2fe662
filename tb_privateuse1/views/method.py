"""How the device timeline was made: measured, inferred or none, with sources and error bounds."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.kernels import inference_limits
from tb_privateuse1.analysis.kernels.inference_limits import Advice, Limit
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import sum_bounds, uncertainty
from tb_privateuse1.trace.findings import PARTIAL, Finding
from tb_privateuse1.trace.inference_basis import Constant, Kind
from tb_privateuse1.trace.model import CATALOGUE, EVENTS, MISSING, OPERATOR, Kernels, Trace
from tb_privateuse1.trace.table import I64
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import StepOption, chosen_window

_NOTHING = "no_device_times"

_REFUSALS = (
    *PARTIAL,
    "stream_missing",
    "elapsed_coarse",
    "elapsed_unit",
    "elapsed_of_the_host",
    "elapsed_not_of_a_stream",
    "several_streams",
    "elapsed_missing",
    "backlog_unknown",
    "event_times_wrong",
    "self_test_failed",
    _NOTHING,
    "events_route_dead",
    "host_only",
)
"""Findings that give the reason for a missing timeline or a missing bound."""


class DroppedClaim(Struct, frozen=True):
    """An operator at which something was taken for certain that contradicted the device times."""

    operator: str
    ts_ns: int
    """The operator's start on the host."""


class Method(Result, frozen=True):
    """The result of the view. Null: the timeline does not rest on it, or there is none."""

    provenance: Provenance
    reason: str
    """Why the timeline is measured, inferred or none."""
    kind: Kind | None
    """What the elapsed times are (docs/internals/inference.md, section 1)."""
    kind_evidence: str | None
    operators: int
    timed: int
    """Operators and annotations with an elapsed device time."""
    activities: int | None
    linked: int | None
    linked_share: float | None
    device_ns: int | None
    device_bound_ns: int | None
    """The smaller of the two that follow."""
    device_worst_bound_ns: int | None
    """The sum of all bounds."""
    device_statistical_bound_ns: int | None
    """Two standard deviations, if the errors of different work are independent."""
    shift_bound_ns: int | None
    """How far all starts may be off together: the error of the launch latency."""
    median_start_bound_ns: int | None
    """Without the shift."""
    median_duration_bound_ns: int | None
    evidence: tuple[uncertainty.Evidence, ...]
    constants: tuple[Constant, ...]
    limits: tuple[Limit, ...]
    """What limits the accuracy, worst first."""
    advice: tuple[Advice, ...]
    refused: tuple[Finding, ...]
    marks: int | None
    anchors: int | None
    refuted_anchors: int | None
    late_stamps: int | None
    crossing: int | None
    """Marks that fit no schedule of one stream."""
    claims: int | None
    """What was taken for certain: intervals that launched nothing, and calls that waited."""
    dropped_claims: int | None
    """Those that contradicted others; ``dropped`` lists the first ones."""
    dropped: tuple[DroppedClaim, ...]
    elsewhere: int | None
    """Activities with durations from other recordings of the run, and their files."""
    others: tuple[str, ...]
    primed: int | None
    """Activities whose durations are those of equal work in primed steps; null without these."""
    self_test: int | None
    """Bounds of kernels that the capture planted and the host timed; null if there are none, or the
    host could not time them."""
    self_test_held: int | None
    """Those that held."""


def method(trace: Trace, *, step: StepOption = None) -> Method:
    """The grounds of the timeline; ``step`` limits the activities, evidence and limits to one.

    Raises TraceError ``unknown_step``.
    """
    meta = trace.meta
    window = chosen_window(trace, step, "all")
    kernels = trace.kernels.take(window.kernels)
    any_device = len(trace.kernels) > 0
    grounds = meta.grounds
    counts = grounds.counts if grounds else {}
    linked = breakdown.linked_activities(trace, kernels)
    refused = tuple(f for code in _REFUSALS for f in meta.findings if f.code == code)
    # That there are no device times says nothing beside the reason for it.
    refused = refused if len(refused) == 1 else tuple(f for f in refused if f.code != _NOTHING)
    found = inference_limits.find_limits(trace, kernels)
    bounds = sum_bounds.sum_bound(kernels.duration_bound_ns, kernels.error_group)
    bounds = bounds if any_device else None
    return Method(
        provenance=provenance(trace, window),
        reason=_reason(trace, refused),
        kind=grounds.kind if grounds else None,
        kind_evidence=grounds.evidence if grounds else None,
        operators=int((trace.ops.kind == OPERATOR).sum()),
        timed=int((trace.ops.elapsed_ns != MISSING).sum()),
        activities=len(kernels) if any_device else None,
        linked=int(linked.sum()) if any_device else None,
        linked_share=float(linked.mean()) if len(linked) else None,
        device_ns=int((kernels.end_ns - kernels.start_ns).sum()) if any_device else None,
        device_bound_ns=bounds.bound_ns if bounds else None,
        device_worst_bound_ns=bounds.worst_ns if bounds else None,
        device_statistical_bound_ns=bounds.statistical_ns if bounds else None,
        shift_bound_ns=uncertainty.shift_bound(kernels) if any_device else None,
        median_start_bound_ns=_median(uncertainty.own_start_bound(kernels)),
        median_duration_bound_ns=_median(kernels.duration_bound_ns),
        evidence=tuple(uncertainty.evidence_classes(kernels)),
        constants=grounds.constants if grounds else (),
        limits=found,
        advice=inference_limits.limit_advice(trace, found),
        refused=refused,
        others=grounds.others if grounds else (),
        primed=_known_by_priming(trace, kernels),
        dropped=tuple(
            DroppedClaim(trace.strings[trace.ops.name[row]], int(trace.ops.start_ns[row]))
            for row in (grounds.dropped if grounds else ())
        ),
        **{name: counts.get(name) for name in _COUNTS},
    )


_COUNTS = (
    "marks",
    "anchors",
    "refuted_anchors",
    "late_stamps",
    "crossing",
    "claims",
    "dropped_claims",
    "elsewhere",
    "self_test",
    "self_test_held",
)


def _known_by_priming(trace: Trace, kernels: Kernels) -> int | None:
    """Return how many activities have durations from primed steps; None if no step was primed."""
    primed = np.append(trace.steps.primed, False)
    if not primed.any() or trace.meta.timeline != "inferred":
        return None
    every = trace.kernels
    seen = every.error_group[primed[every.step] & (every.evidence == EVENTS)]
    shown = (kernels.evidence == CATALOGUE) & ~primed[kernels.step]
    return int((shown & np.isin(kernels.error_group, seen)).sum())


def _median(bounds_ns: I64) -> int | None:
    known = bounds_ns[bounds_ns != MISSING]
    return round(float(np.median(known))) if len(known) else None


def _reason(trace: Trace, refused: tuple[Finding, ...]) -> str:
    meta = trace.meta
    timed = int((trace.ops.elapsed_ns != MISSING).sum())
    if meta.timeline == "measured":
        return say(
            "A device profiler recorded {count:,} activities: their starts and ends are its own.",
            count=len(trace.kernels),
        )
    if meta.timeline == "none":
        return refused[0].message if refused else say("The trace has no device times.")
    if meta.grounds is None:
        return say(
            "The trace holds kernels that were inferred when it was merged; their classes and "
            "bounds are those that stand in it."
        )
    if meta.grounds.kind == "kernel_sum":
        return say(
            "The trace has the host's times. A sidecar adds, for each of {count:,} operators and "
            "annotations, the sum of the kernels launched in it. Durations are known; starts "
            "follow from the launches and the order of the queue.",
            count=timed,
        )
    return say(
        "The trace has the host's times. A sidecar adds, for each of {count:,} operators and "
        "annotations, the device time between two events on the stream. What each may have waited "
        "for bounds starts and durations from both sides.",
        count=timed,
    )
