"""Compare the figures of a damaged recording with those of the whole one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from tb_privateuse1.analysis.account.table import account_table, has_account
from tb_privateuse1.analysis.recording.judged_part import judged_part
from tb_privateuse1.analysis.steps.table import Step
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.overview import Overview, overview
from tests.support import make
from tests.support.damage.changes import DAMAGES
from tests.support.damage.recordings import program, shared, shared_recording
from tests.support.damage.view_figures import (
    Figure,
    bounded,
    claims,
    is_nested,
    kinds_of,
    table_figures,
)

Outcome = Literal["equal", "within", "unknown", "noted", "silent"]
"""``equal``: the same figure; ``within``: the stated bounds contain it; ``unknown``: it is null, or
a lower or an upper bound, as stated; ``noted``: a finding says that it is affected."""

OUTCOMES: tuple[Outcome, ...] = ("equal", "within", "unknown", "noted", "silent")
_TOTALS = ("busy", "compute", "communication", "memcpy", "memset", "overlap", "span")
_PARTS = ("duration", "kernel", "memcpy", "memset", "communication", "runtime", "cpu", "other")
_UNDECIDED = ("undecided", "outside")
_ROUNDING = 1e-9
_NO_SAVING = Figure(0.0, 0.0, 0.0)


class Answer(NamedTuple):
    """What the views and the advice say of a recording."""

    steps: tuple[str, ...]
    """Without their ranges, figures of the steps' windows are of the whole recording."""
    judged: tuple[str, ...]
    """The steps of the steady window."""
    figures: dict[str, Figure]
    cause: str | None
    """The class of time that the verdict names; None if it names none."""
    shares: dict[str, float]
    """Of the judged time, by class."""
    ranges: frozenset[int]
    """The kinds of the host's ranges; -1 stands for Python's frames."""
    claims: dict[str, Figure]
    """What the advice would save, by rule."""
    findings: frozenset[tuple[str, str]]
    """The findings that doubt figures: code and message."""
    affected: frozenset[str]


def answer(trace: Trace) -> Answer:
    """Return what the overview and the verdict say."""
    shown = overview(trace)
    assert not shown.failures, shown.failures
    limit = shown.verdict
    named = limit is not None and limit.kind not in _UNDECIDED
    window = judged_part(trace).window
    classes = account_table(trace, window).classes if has_account(trace) and limit else ()
    doubts = [f for f in trace.meta.findings if f.affects]
    return Answer(
        tuple(_window(step) for step in shown.steps if step.duration_ns),
        shown.recording.judged_steps if shown.recording else (),
        dict((*_figures(overview(trace, window="all")), *_steady(shown), *table_figures(trace))),
        limit.time_class if limit and named else None,
        {one.name: one.share for one in classes},
        frozenset((*trace.ops.kind.tolist(), *([-1] if len(trace.frames) else []))),
        claims(trace),
        frozenset((f.code, str(f.message)) for f in doubts),
        frozenset(kind for f in doubts for kind in f.affects),
    )


def _steady(shown: Overview) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of the steady window, whose steps are those of any other window."""
    for name, figure in _figures(shown):
        if " ProfilerStep#" not in name:
            yield f"steady {name}", figure


def _window(step: Step) -> str:
    """Return the name of a step; of a recording without steps, how long it is."""
    return step.name if "#" in step.name else str(step.duration_ns)


def _figures(shown: Overview) -> Iterator[tuple[str, Figure]]:
    for name in _TOTALS:
        value, bound = (getattr(shown.totals, f"{name}{end}") for end in ("_ns", "_bound_ns"))
        yield f"totals {name}", bounded(value, bound)
    used = shown.utilization, shown.utilization_low, shown.utilization_high
    yield "window steps utilization", Figure(*used)
    if shown.account:
        idle, bound = shown.account.idle_ns, shown.account.idle_bound_ns
        yield "window totals idle", bounded(idle, bound)
    for step in shown.steps:
        for name in _PARTS:
            value, bound = (getattr(step, f"{name}{end}") for end in ("_ns", "_bound_ns"))
            place = "steps" if "#" in step.name else "window steps"
            yield f"{place} {step.name} {name}", bounded(value, bound)


def outcomes(whole: Answer, damaged: Answer) -> Counter[tuple[str, Outcome]]:
    """Return the number of figures by outcome; the verdict is one of them.

    Figures of a window are compared if both recordings have it.
    """
    new = whole.findings != damaged.findings
    windows = set(whole.steps)
    counts: Counter[tuple[str, Outcome]] = Counter()
    for name, true in whole.figures.items():
        is_same = "window" not in name or bool(windows & set(damaged.steps))
        if is_nested(name):
            is_same = whole.ranges == damaged.ranges
        if name.startswith("steady"):
            is_same = bool(whole.judged) and whole.judged == damaged.judged
        if name in damaged.figures and true.value is not None and is_same:
            place = name.removeprefix("steady ").removeprefix("window ").split()[0]
            kinds: set[str] = set(kinds_of(name)) or {place}
            if name.startswith("steady"):  # a window of steps, which links put there
                kinds.add("steps")
            noted = new and bool(kinds & damaged.affected)
            counts[name, _outcome(true, damaged.figures[name], noted)] += 1
    if damaged.judged and set(damaged.judged) <= set(whole.judged):
        for rule, claim in damaged.claims.items():
            true = whole.claims.get(rule, _NO_SAVING)
            counts[f"advice {rule}", _of_claim(true, claim, new)] += 1
    if windows & set(damaged.steps):
        counts["verdict", _of_verdict(whole, damaged, new)] += 1
    return counts


def _outcome(true: Figure, found: Figure, noted: bool) -> Outcome:
    if found.value is None or found.low is None or found.high is None:
        return "unknown"
    assert true.value is not None
    slack = _ROUNDING * max(1.0, abs(true.value))
    if abs(found.value - true.value) <= slack:
        return "equal"
    if found.low - slack <= true.value <= found.high + slack:
        return "within"
    return "noted" if noted else "silent"


def _of_claim(true: Figure, claim: Figure, noted: bool) -> Outcome:
    """Return whether a claimed saving can be as small as that of the whole recording is great."""
    if claim.low is None or true.high is None:
        return "unknown"
    if claim.value == true.value:
        return "equal"
    if claim.low <= true.high + _ROUNDING:
        return "within"
    return "noted" if noted else "silent"


def _of_verdict(whole: Answer, damaged: Answer, noted: bool) -> Outcome:
    """Return whether a named cause is one of the whole recording, with at least half its share."""
    if damaged.cause is None:
        return "unknown"
    if damaged.cause == whole.cause:
        return "equal"
    claimed = damaged.shares.get(damaged.cause, 0.0)
    if 2 * whole.shares.get(damaged.cause, 0.0) >= claimed:
        return "within"
    return "noted" if noted else "silent"


class Run(NamedTuple):
    """One damaged recording and the outcomes of its figures."""

    damage: str
    recording: str
    counts: Counter[tuple[str, Outcome]]

    @property
    def worst(self) -> Outcome:
        """The worst outcome of a figure."""
        return max((outcome for _, outcome in self.counts), key=OUTCOMES.index)


def run(rng: random.Random, damage: str, *, real: bool = False) -> Run:
    """Damage one recording and compare."""
    keys: dict[str, Any] = {}
    name, events = "program", program(rng) if not real else []
    if real and shared():
        name, keys = shared_recording(rng)
        events = keys.pop("traceEvents")
    keys.pop("schemaVersion", None)
    whole = answer(make.trace(*events, **keys))
    damaged = answer(make.trace(*DAMAGES[damage](rng, events), **keys))
    return Run(damage, name, outcomes(whole, damaged))
