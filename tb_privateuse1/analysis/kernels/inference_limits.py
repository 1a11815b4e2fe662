"""List what makes an inferred timeline inexact, worst first, and what to do about each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.i18n import say
from tb_privateuse1.trace import uncertainty
from tb_privateuse1.trace.findings import PARTIAL
from tb_privateuse1.trace.model import BOUND, CATALOGUE, END_PINNED, MISSING, SYNC, Kernels, Trace
from tb_privateuse1.trace.table import Bools

_COARSE_NS = 5_000
"""From this clock resolution on, the times of small kernels are not known."""

_FAR_NS = 30_000
"""A start with a greater error bound has no anchor nearby."""

_MANY = 0.02
"""Share of contradictory marks that is worth a message."""


class Limit(Struct, frozen=True):
    """One cause of error."""

    code: str
    title: str
    message: str
    kernels: int | None
    """The number of activities that it affects."""
    share: float | None
    """Their share of the device time, 0 to 1."""
    bound_ns: int | None
    """The error bound that it causes, null without one; the limits are in its order. Of durations
    it is that of their sum, of the launch latency the shift that all starts share."""
    advice: str | None
    """The code of the advice against it."""


class Advice(Struct, frozen=True):
    """A change of the capture, or of the backend, that reduces errors."""

    code: str
    title: str
    message: str
    example: str | None
    """Lines to copy, as in docs/guide/capture.md."""


ADVICE = (
    Advice(
        "prime",
        say("Prime a step"),
        say(
            "A long kernel at the start of one step makes the others queue, so that their "
            "durations show; they then count for the same operators everywhere. It changes "
            "that step, which is marked and left out of averages."
        ),
        "with capture.profile(\n"
        '    prime_ms="auto",\n'
        '    on_trace_ready=capture.tensorboard_trace_handler("./log"),\n'
        ") as prof:\n"
        "    ...",
    ),
    Advice(
        "sync",
        say("Mark where the device was waited for"),
        say(
            "A wait within a range that is named so ties the device's time to the host's; one "
            "in each step bounds a long backlog."
        ),
        'with torch.profiler.record_function("synchronize"):\n    torch.accelerator.synchronize()',
    ),
    Advice(
        "capture",
        say("Record with our capture"),
        say(
            "It asks the backend for the device times that torch.profiler leaves out, and "
            "measures on the idle device what no trace can tell: launch latency, unit and kind "
            "of the times."
        ),
        "from tb_privateuse1 import capture\n"
        'with capture.profile(on_trace_ready=capture.tensorboard_trace_handler("./log")) as prof:\n'
        "    for batch in batches:\n"
        "        train(batch)\n"
        "        prof.step()",
    ),
    Advice(
        "stubs",
        say("Register ProfilerStubs"),
        say(
            "The backend has to record events: two functions suffice, and the reference device "
            "in examples/refdevice shows them."
        ),
        "torch::profiler::impl::registerPrivateUse1Methods(&stubs);",
    ),
    Advice(
        "shapes",
        say("Record shapes"),
        say("Durations are then learned per operator and shapes, and not of all calls alike."),
        "record_shapes=True,",
    ),
    Advice(
        "clock",
        say("Measure finer"),
        say(
            "The backend's ProfilerStubs should return microseconds from a clock that counts them."
        ),
        "float elapsed(\n    const ProfilerVoidEventStub* from, const ProfilerVoidEventStub* to\n"
        ") const override {\n  return elapsed_ns(*from, *to) / 1e3f;  // microseconds\n}",
    ),
    Advice(
        "streams",
        say("Tell the streams"),
        say(
            "One function of the backend's module says on which streams the events of an "
            "operator were recorded; each stream then has a lane of its own."
        ),
        "def elapsed_streams() -> tuple[int, int, int]:  # device, stream of either event\n"
        "    return _C.elapsed_streams()",
    ),
    Advice(
        "event_times",
        say("Report event times"),
        say(
            "One function of the backend's module reports when the device executed the two events "
            "of an operator; starts and streams are measured then."
        ),
        "def event_times() -> tuple[int, int]:  # ns after an event that stays the same\n"
        "    return _C.event_times()",
    ),
    Advice(
        "native",
        say("Measure each kernel"),
        say(
            "A backend that registers a Kineto profiler has its kernels in the trace, with "
            "streams and names: nothing has to be inferred."
        ),
        "REGISTER_PRIVATEUSE1_PROFILER(MyActivityProfiler)  // a libkineto::IActivityProfiler",
    ),
)


def limit_advice(trace: Trace, limits: tuple[Limit, ...]) -> tuple[Advice, ...]:
    """Return the advice for some limits, in their order; empty if all times are measured."""
    wanted: list[str] = []
    if trace.meta.timeline == "inferred":
        wanted = [limit.advice for limit in limits if limit.advice] + ["native"]
    elif trace.meta.timeline == "none":
        wanted = list(_instead(trace))
    by_code = {one.code: one for one in ADVICE}
    return tuple(by_code[code] for code in dict.fromkeys(wanted))


def _instead(trace: Trace) -> Iterator[str]:
    """Yield the codes of advice that gives device times to a trace without any."""
    grounds = trace.meta.grounds
    codes = {finding.code for finding in trace.meta.findings}
    if not codes.isdisjoint(PARTIAL):
        return
    if "several_streams" in codes:
        yield "streams"
    elif grounds is not None and grounds.kind in ("coarse", "unit"):
        yield "clock"
    elif "no_device_times" in codes and (grounds is None or grounds.kind == "none"):
        yield "stubs"  # our capture ran, but the backend records no events
    elif grounds is None:
        yield "capture"
    if "host_only" not in codes:
        yield "native"


def find_limits(trace: Trace, kernels: Kernels) -> tuple[Limit, ...]:
    """Return the limits of some activities, those with the greatest error first."""
    if trace.meta.timeline != "inferred" or not len(kernels):
        return ()
    found = list(_limits(trace, kernels))
    return tuple(sorted(found, key=lambda limit: -(limit.bound_ns or 0)))


def _limits(trace: Trace, kernels: Kernels) -> Iterator[Limit]:
    classes = kernels.evidence
    hidden = classes == BOUND
    if hidden.any():
        message = say(
            "The device waited for the host, so that these kernels' durations hide in the "
            "host's time, and no other call of the operator shows them, here or in the first "
            "recording of this rank and of the lowest one."
        )
        title, bound = say("Hidden durations"), _time_bound(kernels, hidden)
        yield _limit("hidden_durations", title, message, "prime", kernels, hidden, bound)
    partly = np.isin(classes, (END_PINNED, CATALOGUE, SYNC))
    if partly.any():
        message = say(
            "The device caught up with the host at these kernels: only their end is known, or "
            "other calls of the operator tell how long they took."
        )
        title, bound = say("Durations from elsewhere"), _time_bound(kernels, partly)
        yield _limit("caught_up", title, message, "prime", kernels, partly, bound)
    start = uncertainty.own_start_bound(kernels)
    far = (start == MISSING) | (start > _FAR_NS)
    if far.any():
        lost = int((start == MISSING).sum())
        message = say("The device was behind the host here, and little tells by how much.")
        if lost:
            message = say(
                "The device was behind the host here, and little tells by how much. Of {count:,} "
                "kernels, nothing does.",
                count=lost,
            )
        known = start[far & (start != MISSING)]
        bound = int(known.sum()) if len(known) else None
        yield _limit("backlog", say("Long backlog"), message, "sync", kernels, far, bound)
    yield from _of_constants(trace, kernels)
    yield from _of_solution(trace)


def _of_constants(trace: Trace, kernels: Kernels) -> Iterator[Limit]:
    grounds = trace.meta.grounds
    if grounds is None:
        return
    known = {constant.name: constant for constant in grounds.constants}
    everything = np.ones(len(kernels), np.bool_)
    latency = known.get("launch_latency")
    if latency is not None and latency.source == "assumed":
        message = say(
            "{us:g} µs are assumed; an error shifts all starts alike.",
            us=latency.value_ns / 1e3,
        )
        title, shift = say("Launch latency not measured"), latency.width_ns
        yield _limit("latency", title, message, "capture", kernels, everything, shift)
    resolution = known.get("elapsed_resolution")
    if resolution is not None and resolution.value_ns >= _COARSE_NS:
        message = say(
            "The backend's clock ticks in steps of {us:g} µs.",
            us=resolution.value_ns / 1e3,
        )
        title, bound = say("Coarse clock"), resolution.value_ns * len(kernels)
        yield _limit("resolution", title, message, "clock", kernels, everything, bound)
    if not grounds.counts.get("shapes", 1):
        message = say(
            "Without input shapes, calls of one operator on small and large tensors are one."
        )
        yield Limit("shapes", say("No input shapes"), message, None, None, None, "shapes")


def _of_solution(trace: Trace) -> Iterator[Limit]:
    grounds = trace.meta.grounds
    if grounds is None:
        message = say("The trace was merged before: what it was inferred from is not in it.")
        yield Limit("merged", say("Inferred elsewhere"), message, None, None, None, None)
        return
    marks = grounds.counts.get("marks", 0)
    wrong = grounds.counts.get("refuted_anchors", 0) + grounds.counts.get("late_stamps", 0)
    if wrong > _MANY * marks:
        message = say(
            "{count:,} of {total:,} marks contradicted the others and were dropped: threads "
            "that were interrupted, or work on another stream.",
            count=wrong,
            total=marks,
        )
        yield Limit("contradictions", say("Contradictions"), message, None, None, None, None)
    if marks and not grounds.counts.get("measured_marks"):
        message = say(
            "Only the time between two events is known: how far the device was behind the host is "
            "inferred."
        )
        yield Limit("elapsed_only", say("No event times"), message, None, None, None, "event_times")
    if len(trace.lanes) == 1:
        message = say(
            "Events see the current stream only; work on another shows as the wait for it."
        )
        yield Limit("one_stream", say("One stream"), message, None, None, None, "streams")


def _limit(
    code: str,
    title: str,
    message: str,
    advice: str,
    kernels: Kernels,
    affected: Bools,
    bound_ns: int | None,
) -> Limit:
    time = kernels.end_ns - kernels.start_ns
    whole = int(time.sum())
    share = int(time[affected].sum()) / whole if whole else None
    return Limit(code, title, message, int(affected.sum()), share, bound_ns, advice)


def _time_bound(kernels: Kernels, affected: Bools) -> int | None:
    """Return the bound of the device time of some activities."""
    return uncertainty.duration_sum_bound(kernels.take(affected))
