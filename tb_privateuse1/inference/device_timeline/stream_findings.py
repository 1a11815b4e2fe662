"""Say what a stream's solution rests on, and why there is no timeline or no bound of its starts."""

from __future__ import annotations

from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.inference.device_timeline import elapsed_kind
from tb_privateuse1.inference.device_timeline.phase_results import StreamInput
from tb_privateuse1.inference.device_timeline.solver import Solution
from tb_privateuse1.inference.device_timeline.timeline_inputs import EventPairs, StreamKernels
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.table import Bools

_LISTED = 200
"""The number of dropped claims that the method page lists."""

_UNBOUNDED = 0.1
"""The share of kernels without a start bound above which there is a finding."""


def solution_counts(solution: Solution, events: int) -> dict[str, int]:
    """Return the counts that the method page shows of a solution."""
    return {
        "marks": events,
        "anchors": int(solution.anchors.sum()),
        "refuted_anchors": int(solution.refuted.sum()),
        "late_stamps": solution.relaxed,
        "crossing": solution.first_crossing,
        "claims": solution.claims,
        "dropped_claims": len(solution.dropped),
    }


def dropped_rows(solution: Solution, events: EventPairs) -> tuple[int, ...]:
    """Return the first operators at whose events claims were dropped."""
    return tuple(events.op[solution.dropped[:_LISTED]].tolist())


def contradicted(solution: Solution, stream: StreamInput) -> StreamKernels | None:
    """Return no work and the reason if no stream explains the elapsed times."""
    finding = elapsed_kind.contradiction(len(solution.dropped), solution.claims)
    if finding is None:
        return None
    basis = replace(
        stream.basis,
        kind="host",
        evidence=finding.message,
        counts={**stream.basis.counts, **solution_counts(solution, len(stream.events))},
        dropped=dropped_rows(solution, stream.events),
    )
    return StreamKernels.none(finding, basis)


def batched_finding(count: int) -> tuple[Finding, ...]:
    """Return a finding if the device works in batches, as calls that waited show."""
    if not count:
        return ()
    message = say(
        "The device works in batches: it executed what {count} calls had recorded only after they "
        "had waited for it and returned. Nothing tells when work began.",
        count=count,
    )
    hint = say("Let the backend start work at once while it is profiled.")
    return (Finding("device_batches", message, hint, count, affects=("totals", "steps")),)


def unbounded_finding(unbounded: Bools) -> tuple[Finding, ...]:
    """Return a finding if many kernels have no start bound."""
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
