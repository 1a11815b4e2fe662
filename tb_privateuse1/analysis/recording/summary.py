"""Summarize a recording: its kind, phases and judged part, in one sentence and one hint."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.recording import judged_part
from tb_privateuse1.analysis.recording.durations import write_duration
from tb_privateuse1.analysis.recording.iterations import (
    STEP,
    Iterations,
    IterationSource,
    iterations,
)
from tb_privateuse1.analysis.recording.phases import (
    FIRST_TIME,
    KINDS,
    Phase,
    PhaseKind,
    phases,
    time_of,
)
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.recording.workload import WorkloadKind, workload
from tb_privateuse1.i18n import join_list, join_sentences, plural, say
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.findings import LONGEST_NAME, TableName
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace

Content = Literal["kernels", "calls", "modules", "functions", "memory", "counters"]
"""What only some recordings have: device activities, calls of the device's runtime, modules or
annotations, Python frames, memory events, counters."""

AbsenceReason = Literal["not_asked", "nothing_came", "format"]
"""``not_asked``: its option was not set, or that is not known; ``nothing_came``: it was, and the
recording has no such events; ``format``: files of this format have none."""

_OPTIONS: dict[Content, str] = {
    "memory": "profile_memory",
    "modules": "with_modules",
    "functions": "with_stack",
}
"""The profiler's options that record what a recording may lack."""

RecordingKind = Literal[
    "steady", "partly_steady", "startup", "compilation", "capture", "joined", "empty"
]
"""``steady``: all of it is judged; ``partly_steady``: some is left out; the others say what the
recording is instead: nothing in it is judged. ``joined``: several recordings are in its file;
``empty``: nothing was read from it."""

_FILE_KINDS: dict[RecordingKind, tuple[str, ...]] = {
    "empty": ("no_events", "nothing_read", "no_ranges"),
    "joined": ("joined_recordings",),
}
"""Codes of the findings about such files."""

_NO_DEVICE = ("no_device_activities",)
"""Codes of the findings that the device's work was not recorded."""

_KIND_NAMES: dict[PhaseKind, str] = {
    "startup": say("start-up"),
    "compilation": say("compilation"),
    "capture": say("graph capture"),
    "drain": say("drain of earlier work"),
    "profiler_stop": say("the profiler's end"),
    "steady": say("steady work"),
}

_WORKLOADS: dict[WorkloadKind, str] = {
    "training": say("Training"),
    "inference": say("Inference"),
    "serving": say("Serving"),
    "unknown": say("Recording"),
}

_RECORD_LATER = say(
    "Record later: schedule(wait=5, warmup=2, active=3) and prof.step() after each step."
)


class RecordingPhase(Struct, frozen=True):
    """A phase of the recording, with the event that proves it."""

    kind: PhaseKind
    start_ns: int
    end_ns: int
    sentence: str
    """What the events show; empty if steady."""
    table: TableName | None
    row: int | None
    """The event that proves it, the longest of several: a row of ``table``; null if steady."""
    event: str
    """Its name."""


class RecordingSummary(Struct, frozen=True):
    """The kind of recording, and what of it is judged."""

    kind: RecordingKind
    workload: WorkloadKind
    workload_reason: str
    sentence: str
    """One line: the workload, what is judged and what is left out."""
    hint: str
    """What to record instead; empty if that would change nothing."""
    phases: tuple[RecordingPhase, ...]
    judged_steps: tuple[str, ...]
    """Names of the first 500 judged steps; empty without steps or if nothing is judged."""
    judged_steps_total: int
    judged_ns: int
    """Length of the judged time."""
    steady_step_ns: int | None
    """The judged time of a judged step, on average; null if nothing is judged."""
    iterations: int | None
    """Number of iterations found; null if nothing repeats."""
    iterations_source: IterationSource | None
    iteration_ns: int | None
    """Median time from the start of an iteration to that of the next; null of fewer than two."""


class Absence(Struct, frozen=True):
    """A lack of something that an option of the profiler records."""

    content: Content
    reason: AbsenceReason


_MOST_NAMES = 500
"""As many steps as the overview lists by default."""


def contents(trace: Trace) -> tuple[Content, ...]:
    """Return what the recording has, in the order of ``Content``."""
    has: dict[Content, bool] = {
        "kernels": len(trace.kernels) > 0,
        "calls": len(trace.launches) > 0,
        "modules": any(map(np.any, (call_tree.is_module(trace), call_tree.is_annotation(trace)))),
        "functions": call_tree.has_functions(trace),
        "memory": len(trace.memory) > 0,
        "counters": len(trace.counter_series) > 0,
    }
    return tuple(name for name, present in has.items() if present)


def absent_contents(trace: Trace, *, has_memory: bool = True) -> tuple[Absence, ...]:
    """Return what the recording lacks that an option records, and why.

    ``has_memory`` is of its format.
    """
    has, asked = contents(trace), trace.meta.profiler
    reasons: dict[Content, AbsenceReason] = {
        content: "nothing_came" if asked.get(option) else "not_asked"
        for content, option in _OPTIONS.items()
        if content not in has
    }
    if "memory" in reasons and not has_memory:
        reasons["memory"] = "format"
    return tuple(Absence(content, reason) for content, reason in reasons.items())


@memoize
def summary(trace: Trace) -> RecordingSummary:
    """Return the summary of a recording."""
    found, part, work = phases(trace), judged_part.judged_part(trace), workload(trace)
    judged_ns = intervals.length(part.window)
    repeated = iterations(trace)
    names = [trace.text(name) for name in trace.steps.name[part.steps].tolist()]
    is_steps = any(name.startswith(STEP) for name in names)
    kind = _kind(trace, part)
    is_steps &= judged_ns > 0
    if kind in _FILE_KINDS:
        sentence, hint = _said(trace, _FILE_KINDS[kind])
    elif part.is_steady:
        sentence, hint = _judged(trace, part, is_steps)
    else:
        sentence, hint = _unjudged(trace, kind)
    return RecordingSummary(
        kind=kind,
        workload=work.kind,
        workload_reason=work.reason,
        sentence=sentence,
        hint=hint,
        phases=tuple(_phase(trace, phase) for phase in found),
        judged_steps=tuple(names[:_MOST_NAMES]) if is_steps else (),
        judged_steps_total=len(names) if is_steps else 0,
        judged_ns=judged_ns,
        steady_step_ns=None if kind in _FILE_KINDS else part.steady_step_ns,
        iterations=len(repeated.start_ns) if repeated else None,
        iterations_source=repeated.source if repeated else None,
        iteration_ns=_period(repeated),
    )


def summary_of(window: Window) -> RecordingSummary:
    """Return the summary of the recording; its sentence is that of the window."""
    trace, found = window.trace, summary(window.trace)
    if window.asked == "steady" or found.kind in _FILE_KINDS:
        return found
    name, time = _WORKLOADS[found.workload], write_duration(window.ns)
    lack, hint = _said(trace, _NO_DEVICE)
    if window.kind == "all":
        head = say("{name}, all {time} analyzed.", name=name, time=time)
    elif window.kind == "step":
        step = trace.text(trace.steps.name[window.steps[0]])
        head = say("{name}, {step} of {time} analyzed.", name=name, step=step, time=time)
    else:
        head = say(
            "{name}, {iterations} of {time} analyzed.",
            name=name,
            iterations=_count_of_phase(window),
            time=write_duration(window.ns // max(len(window.steps), 1)),
        )
    return replace(found, sentence=join_sentences((head, lack)), hint=hint)


def _count_of_phase(window: Window) -> str:
    count = len(window.steps)
    if window.kind == "prefill":
        return plural(count, "prefill iteration")
    if window.kind == "decode":
        return plural(count, "decode iteration")
    return plural(count, "mixed iteration")


def _period(found: Iterations | None) -> int | None:
    if found is None or len(found.start_ns) < 2:
        return None
    return round(float(np.median(np.diff(found.start_ns))))


def _kind(trace: Trace, part: judged_part.JudgedPart) -> RecordingKind:
    for kind, codes in _FILE_KINDS.items():
        if _said(trace, codes)[0]:
            return kind
    if not part.is_steady:
        return _first_time_kind(trace)
    unsteady = time_of(phases(trace), set(KINDS) - {"steady"})
    least = judged_part.MATERIAL * max(trace.end_ns, 1)
    is_partly = len(part.left_out) > 0 or intervals.length(unsteady) >= least
    return "partly_steady" if is_partly else "steady"


def _said(trace: Trace, codes: tuple[str, ...]) -> tuple[str, str]:
    """Return the message and the hint of a finding of these codes; empty without one."""
    found = (finding for finding in trace.meta.findings if finding.code in codes)
    return next(((finding.message, finding.hint or "") for finding in found), ("", ""))


def _first_time_kind(trace: Trace) -> RecordingKind:
    """Return the kind of first-time work that takes longest."""
    kinds: tuple[RecordingKind, ...] = "startup", "compilation", "capture"
    length = {
        kind: sum(p.end_ns - p.start_ns for p in phases(trace) if p.kind == kind) for kind in kinds
    }
    return max(kinds, key=lambda kind: length[kind])


def _unjudged(trace: Trace, kind: RecordingKind) -> tuple[str, str]:
    """Return sentence and hint of a recording without a steady part."""
    own = [phase for phase in phases(trace) if phase.kind == kind]
    taken = sum(phase.end_ns - phase.start_ns for phase in own)
    head = say(
        "Recording of {kind}, which takes {time} of {whole}: no steady step is in it.",
        kind=_KIND_NAMES[own[0].kind],
        time=write_duration(taken),
        whole=write_duration(trace.end_ns),
    )
    return join_sentences((head, own[0].sentence)), _RECORD_LATER


def _judged(trace: Trace, part: judged_part.JudgedPart, is_steps: bool) -> tuple[str, str]:
    """Return sentence and hint of a recording with a steady part."""
    judged_ns = intervals.length(part.window)
    name = _named(trace)
    if is_steps:
        per_step = write_duration(part.steady_step_ns or 0)
        # A single step has no other one to be as steady as.
        several = len(part.steps) > 1
        count = plural(len(part.steps), "steady step") if several else plural(1, "step")
        head = say("{name}, {steps} of {time} analyzed.", name=name, steps=count, time=per_step)
    elif len(part.iterations_ns) and workload(trace).kind != "serving":
        head = say(
            "{name}, {iterations} of {time} analyzed.",
            name=name,
            iterations=plural(len(part.iterations_ns), "iteration"),
            time=write_duration(part.steady_step_ns or 0),
        )
    else:
        head = say("{name}, {time} analyzed.", name=name, time=write_duration(judged_ns))
    reasons, missing = _left_out(trace, part), len(trace.steps) - len(part.steps)
    left: str = ""
    if missing:
        left = say(
            "{steps} left out: {reasons}.",
            steps=plural(missing, "step"),
            reasons=join_list(reasons),
        )
    elif reasons:
        left = say("Left out: {reasons}.", reasons=join_list(reasons))
    is_first_time = time_of(phases(trace), FIRST_TIME)[0].size > 0
    lack, hint = _said(trace, _NO_DEVICE)
    return join_sentences((head, left, lack)), hint or (_RECORD_LATER if is_first_time else "")


def _named(trace: Trace) -> str:
    """Return the name of the workload, with the iterations that annotations name."""
    work = workload(trace)
    counts = [
        count if period_ns is None
        else say("{iterations} of {time}", iterations=count, time=write_duration(period_ns))
        for count, period_ns in (
            (work.prefill and plural(work.prefill, "prefill iteration"), work.prefill_ns),
            (work.decode and plural(work.decode, "decode iteration"), work.decode_ns),
            (work.mixed and plural(work.mixed, "mixed iteration"), work.mixed_ns),
        )
        if count
    ]  # fmt: skip
    name = _WORKLOADS[work.kind]
    return say("{name} ({counts})", name=name, counts=join_list(counts)) if counts else name


def _left_out(trace: Trace, part: judged_part.JudgedPart) -> list[str]:
    """Return each reason for which time or steps are left out."""
    texts: list[str] = []
    for kind in KINDS[:-1]:
        taken = sum(p.end_ns - p.start_ns for p in phases(trace) if p.kind == kind)
        if taken:
            what, time = _KIND_NAMES[kind], write_duration(taken)
            texts.append(say("{what} ({time})", what=what, time=time))
    missing = np.setdiff1d(np.arange(len(trace.steps)), part.steps)
    if (trace.steps.incomplete & ~trace.steps.partial)[missing].any():
        texts.append(say("incomplete"))
    if trace.steps.partial[missing].any():
        texts.append(say("without all of their kernels"))
    if trace.steps.primed[missing].any():
        texts.append(say("device loaded by the capture"))
    return texts


def _phase(trace: Trace, phase: Phase) -> RecordingPhase:
    row = phase.rows[0] if phase.table and phase.rows else None
    name = getattr(trace, phase.table).name[row] if phase.table and row is not None else NONE
    return RecordingPhase(
        kind=phase.kind,
        start_ns=phase.start_ns,
        end_ns=phase.end_ns,
        sentence=phase.sentence,
        table=phase.table if row is not None else None,
        row=row,
        event=trace.text(name)[:LONGEST_NAME],
    )
