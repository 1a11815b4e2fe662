"""Predict a step with changes, rank estimated gains, and show the critical path."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice.rules.rule import Rule
from tb_privateuse1.analysis.account.classes import CLASSES, ClassName
from tb_privateuse1.analysis.kernel_names import display_names, name_fields
from tb_privateuse1.analysis.recording.judged_part import JudgedPart
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.simulation import changes as changing
from tb_privateuse1.analysis.simulation import critical_path
from tb_privateuse1.analysis.simulation import ranking as simulation_ranking
from tb_privateuse1.analysis.simulation.path_classes import Path, outside
from tb_privateuse1.analysis.simulation.prediction import Prediction, share_of
from tb_privateuse1.analysis.simulation.ranking import Gain
from tb_privateuse1.analysis.simulation.replayed_part import ReplayedPart, replayed_part
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import highest
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.isolation import Failure, isolate
from tb_privateuse1.trace.memory_budget import BUDGET
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64
from tb_privateuse1.views.advice import advised
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import MOST_STEPS, StepOption, WindowOption, chosen_window
from tb_privateuse1.views.signature import heavy

_MOST = 500

_TRUSTED = 0.02
"""From this share of a step on, what nothing explains is said in a note."""


class ChangeAsked(Struct, frozen=True):
    """A change that was asked for, and what it touches in the chosen steps, per step."""

    kind: changing.Kind
    name: str
    factor: float
    text: str
    host_ns: int
    """The time of its ranges on host threads, with all that is inside."""
    device_ns: int
    activities: float


class PredictedStep(Struct, frozen=True):
    """One step: as it was measured, predicted, and replayed from nothing but what is known."""

    name: str
    measured_ns: int
    predicted_ns: int
    gain_ns: int
    gain_low_ns: int | None
    gain_high_ns: int | None
    replayed_ns: int
    """Without changes and without delays that nothing explains."""


class PathClass(Struct, frozen=True):
    """A class of time on the critical path, per step; they sum to the step."""

    name: ClassName
    label: str
    meaning: str
    path_ns: int
    share: float
    """Of the judged step, 0 to 1."""


class PathRow(Struct, frozen=True):
    """An operator, kernel or call on the critical path, per step."""

    time_class: ClassName
    name: str
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
    pieces: float
    path_ns: int
    share: float
    """Of the judged step, 0 to 1."""
    label: str
    """Of the class."""


class WhatIf(Result, frozen=True):
    """The result of the view; times are means over the judged steps."""

    provenance: Provenance
    rows: tuple[Gain, ...]
    """What gains most first, on top of the changes; several names of one thing are one row."""
    choices: tuple[simulation_ranking.Choice, ...]
    """What can be changed, at most 500: what gains most first. Empty without the ranking."""
    changes: tuple[ChangeAsked, ...]
    is_steady: bool
    """Whether the steps are steady: else they have their whole lengths."""
    measured_ns: int | None
    """The steady step: the judged time of the judged steps, on average."""
    net_ns: int | None
    """That without the profiler's own time, where that is known: gains are shares of it."""
    predicted_ns: int | None
    gain_ns: int | None
    gain_share: float | None
    """Of ``net_ns``."""
    gain_low_ns: int | None
    gain_high_ns: int | None
    """The range of the gain under all assumptions; null if that is not known."""
    replayed_ns: int | None
    replay_error_share: float | None
    """By how much of a step the replay of what is known misses it: what trust rests on."""
    steps: tuple[PredictedStep, ...]
    """The first 500 of ``predicted_total``; means are of all."""
    predicted_total: int
    classes: tuple[PathClass, ...]
    path: tuple[PathRow, ...]
    """At most 500 of ``path_rows``."""
    path_rows: int
    notes: tuple[Finding, ...]


@heavy
def whatif(
    trace: Trace,
    critical: Path,
    rules: Sequence[Rule] | None = None,
    *,
    changes: Annotated[
        str | None, "one change a line, as aten::mm=0.5 (twice as fast) or copies=0 (free)"
    ] = None,
    step: StepOption = None,
    window: WindowOption = "steady",
    ranking: Annotated[bool, "rank what gains how much; this takes most of the time"] = True,
    limit: Annotated[int, "at most this many rows of the ranking"] = 30,
) -> WhatIf:
    """Predict step times with ``changes`` (one a line, as ``aten::mm=0.5``), by replay.

    ``rules`` are those of the advice, whose findings are changes, too; by default the built-in
    ones. Raises TraceError ``bad_change`` or ``unknown_step``.
    """
    time = chosen_window(trace, step, window)
    part = time.part
    rows = part.steps
    made = _parsed(trace, changes, time, rules)
    replay = replayed_part(trace, part)
    changing.check_matches(replay.graph, replay.trace, replay.made(made))
    (forecast,) = replay.predict([made])
    lengths = part.lengths_ns[np.isin(rows, replay.cut.chosen)]
    measured, total = _mean(part.lengths_ns), forecast.mean(replay.steps)
    net = None if measured is None else replay.net_ns(measured, made)
    gain = total.gain_ns if len(rows) else None
    replayed = None if measured is None else measured + _missed_ns(replay)
    own = outside(critical.take(np.isin(critical.step, rows)), part.apart)
    table, table_rows = _path(trace, own, len(rows))
    most = max(limit, 0) if ranking else None
    ranked = _ranking(trace, time.key, (replay, critical, part), most, made)
    error = None if not measured or replayed is None else (replayed - measured) / measured
    return WhatIf(
        provenance=provenance(trace, time),
        rows=() if isinstance(ranked, Failure) else ranked.rows,
        choices=() if isinstance(ranked, Failure) else ranked.choices,
        changes=tuple(_asked(trace, change, part, replay.cut.chosen) for change in made),
        is_steady=part.is_steady,
        measured_ns=measured,
        net_ns=None if net is None else round(net),
        predicted_ns=None if measured is None or gain is None else measured - gain,
        gain_ns=gain,
        gain_share=share_of(gain, net) if net is not None and gain is not None else None,
        gain_low_ns=total.low_ns if len(rows) else None,
        gain_high_ns=total.high_ns if len(rows) else None,
        replayed_ns=replayed,
        replay_error_share=error,
        steps=_first_steps(replay, forecast, lengths),
        predicted_total=len(replay.steps),
        classes=_classes(own, len(rows)),
        path=table,
        path_rows=table_rows,
        notes=(*_of_part(replay, part), *_notes(trace, error), *_of_ranking(ranked)),
    )


def _parsed(
    trace: Trace, text: str | None, window: Window, rules: Sequence[Rule] | None
) -> tuple[changing.Change, ...]:
    """Return the changes of a text; the advice is asked only if one names a finding."""
    names_one = "finding:" in (text or "")
    findings = advised(trace, window, rules).scopes if names_one else {}
    return changing.parse_changes(trace, text, findings)


def _ranking(
    trace: Trace,
    window: Hashable,
    replay: tuple[ReplayedPart, Path, JudgedPart],
    limit: int | None,
    changes: tuple[changing.Change, ...],
) -> simulation_ranking.Ranking | Failure:
    """Return the gains of a window's items; the memory keeps them for the next request.

    No limit stands for no items.
    """
    if limit is None:
        return simulation_ranking.Ranking((), (), len(replay[0].steps), 0)
    return isolate(
        say("The ranking of savings"),
        lambda: BUDGET.compute(
            trace,
            ("ranking", window, limit, tuple(one.text for one in changes)),
            lambda: simulation_ranking.rank_gains(trace, *replay, limit, changes),
            goes_last=True,
        ),
    )


def _missed_ns(replay: ReplayedPart) -> int:
    """Return how much longer the replay of what is known is than a step of the recording."""
    return round(float((replay.base.bare - replay.base.held)[replay.steps].mean()))


def _first_steps(
    replay: ReplayedPart, forecast: Prediction, lengths_ns: I64
) -> tuple[PredictedStep, ...]:
    steps = zip(replay.steps[:MOST_STEPS].tolist(), lengths_ns[:MOST_STEPS].tolist(), strict=True)
    return tuple(_predicted(replay, forecast, step, length) for step, length in steps)


def _predicted(
    replay: ReplayedPart, forecast: Prediction, step: int, judged_ns: int
) -> PredictedStep:
    base, trace = replay.base, replay.trace
    gain = forecast.mean(np.array([step]))
    return PredictedStep(
        name=trace.text(trace.steps.name[step]),
        measured_ns=judged_ns,
        predicted_ns=judged_ns - gain.gain_ns,
        gain_ns=gain.gain_ns,
        gain_low_ns=gain.low_ns,
        gain_high_ns=gain.high_ns,
        replayed_ns=int(judged_ns - base.held[step] + base.bare[step]),
    )


def _mean(values: I64) -> int | None:
    return round(float(values.mean())) if len(values) else None


def _asked(trace: Trace, change: changing.Change, part: JudgedPart, rows: I64) -> ChangeAsked:
    """Return the change with its time in a step: the mean of the replayed ones, ``rows``."""
    touched = changing.change_scope(trace, change)
    steps = trace.steps.take(rows)
    host = 0
    for _, times in touched.ranges.by_thread():
        judged = intervals.subtract(times, part.apart)
        inside = intervals.covered_length(judged, steps.host_start_ns, steps.host_end_ns)
        host += int(inside.sum())
    touches = (touched.kernels > 0) & np.isin(trace.kernels.step, rows)
    own, share = trace.kernels.take(touches), touched.kernels[touches]
    apart = intervals.covered_length(part.apart, own.start_ns, own.end_ns)
    length = own.end_ns - own.start_ns
    own = own.take((apart < length) | (length == 0))
    device = round(float(((length - apart) * share).sum()))
    count = max(len(rows), 1)
    return ChangeAsked(
        kind=change.kind,
        name=change.name,
        factor=change.factor,
        text=change.text,
        host_ns=round(host / count),
        device_ns=round(device / count),
        activities=len(own) / count,
    )


def _classes(path: Path, steps: int) -> tuple[PathClass, ...]:
    spent = path.end_ns - path.start_ns
    total = max(int(spent.sum()), 1)
    sums = [int(spent[path.time_class == i].sum()) for i in range(len(CLASSES))]
    return tuple(
        PathClass(one.name, one.label, one.meaning, round(ns / max(steps, 1)), ns / total)
        for one, ns in zip(CLASSES, sums, strict=True)
        if ns
    )


def _path(trace: Trace, path: Path, steps: int) -> tuple[tuple[PathRow, ...], int]:
    """Return the critical path by class and name, most time first, and how many rows it has."""
    if not len(path):
        return (), 0
    spent = path.end_ns - path.start_ns
    name, shown = critical_path.piece_names(trace, path), display_names(trace)
    key = path.time_class.astype(np.int64) * (len(trace.strings) + 1) + name + 1
    keys, first, of = np.unique(key, return_index=True, return_inverse=True)
    total_ns = sums(of, spent, len(keys))
    counts = np.bincount(of)
    total = max(int(spent.sum()), 1)
    rows = tuple(
        PathRow(
            time_class=CLASSES[path.time_class[first[i]]].name,
            **name_fields(trace.text(name[first[i]]), kernel=int(name[first[i]]) in shown),
            pieces=float(counts[i]) / steps,
            path_ns=round(int(total_ns[i]) / steps),
            share=int(total_ns[i]) / total,
            label=CLASSES[path.time_class[first[i]]].label,
        )
        for i in highest(total_ns, _MOST).tolist()
    )
    return rows, len(keys)


def _steadiness(part: JudgedPart) -> list[Finding]:
    """Return a note where not all complete steps are steady."""
    if not part.is_steady:
        message = say("No step is steady: the recording is of a start, a compilation or a capture.")
        hint = say("Gains in later steps differ. Record steps behind the first ones.")
        return [Finding("not_steady", message, hint)]
    if not len(part.left_out):
        return []
    message = say(
        "{few} of {all} complete steps are steady; the others are left out.",
        few=len(part.steps),
        all=len(part.steps) + len(part.left_out),
    )
    hint = say("The average step of the overview is that of all complete steps.")
    return [Finding("steady_steps", message, hint, severity="info")]


def _notes(trace: Trace, error: float | None) -> list[Finding]:
    """Return the reasons that make the prediction less certain."""
    found = []
    if not len(trace.kernels):
        message = say("There are no device times: only the host is replayed.")
        hint = say(
            "Operators that run on the host are all there is, or the device's work is unknown."
        )
        found.append(Finding("no_device_times", message, hint, severity="info"))
    elif trace.meta.timeline == "inferred":
        message = say("Device times are inferred: the range of a gain includes their bounds.")
        hint = say('A gain that is "at most" some value may be none.')
        found.append(Finding("inferred", message, hint, severity="info"))
    if error is not None and abs(error) > _TRUSTED:
        message = say("Nothing recorded explains {share} of the step.", share=percent(abs(error)))
        if trace.meta.timeline == "inferred":
            message = say(
                "Inferred times leave {share} of the step open.", share=percent(abs(error))
            )
        hint = say("The replay holds that time as it is; what it waits for may be what you change.")
        found.append(Finding("unexplained", message, hint))
    return found


def _of_part(replay: ReplayedPart, part: JudgedPart) -> list[Finding]:
    """Return notes where not all complete steps are steady, or not all of these replayed."""
    found = _steadiness(part)
    few, steps = len(replay.steps), len(part.steps)
    if few == steps:
        return found
    message = say("Gains are those of {few} of {all} steps.", few=few, all=steps)
    hint = say("They are from the middle of a long recording. Choose a step to see its own.")
    return [*found, Finding("replayed_steps", message, hint, severity="info")]


def _of_ranking(ranked: simulation_ranking.Ranking | Failure) -> list[Finding]:
    """Return notes on rows that the ranking leaves out: it failed, or would take too long."""
    if isinstance(ranked, Failure):
        return [ranked.finding()]
    found = []
    if ranked.left_out:
        message = say(
            "Only the {rows} rows with the most time on the critical path were replayed.",
            rows=len(ranked.rows),
        )
        hint = say("Ask for others by name, as changes.")
        found.append(Finding("ranked_rows", message, hint, severity="info"))
    return found
