"""The words of a verdict: its share, its causes, the idle time, and what the steps gain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from tb_privateuse1.analysis.account.classes import CLASSES, NUMBER, ClassName
from tb_privateuse1.analysis.account.table import Account, ClassTime
from tb_privateuse1.analysis.kernel_names import display_name
from tb_privateuse1.analysis.recording.durations import write_duration
from tb_privateuse1.analysis.recording.judged_part import JudgedPart
from tb_privateuse1.analysis.simulation.class_gains import LITTLE, ClassGains
from tb_privateuse1.i18n import join_list, join_sentences, plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import device_times
from tb_privateuse1.trace.model import Trace

VerdictKind = Literal[
    "device",
    "copies",
    "communication",
    "blocked",
    "host",
    "queue",
    "outside",
    "balanced",
    "undecided",
    "host_only",
]
"""What shortens the steps most. ``host_only``: no device was used. ``balanced``: nothing does
alone, since one hides behind the other. ``undecided``: the bounds of an inferred timeline allow the
device and its idle time to be the larger part."""

_HEADS: dict[VerdictKind, str] = {
    "device": say("Device-bound"),
    "copies": say("Copy-bound"),
    "communication": say("Communication-bound"),
    "blocked": say("Host-blocked"),
    "host": say("Host-bound"),
    "queue": say("Queue-bound"),
    "outside": say("Cause not recorded"),
    "balanced": say("Balanced"),
    "host_only": say("Host only"),
}


_NET = say("Gains are shares of the time without the profiler's own.")


def sentence(
    kind: VerdictKind,
    account: Account,
    leading: ClassTime,
    links: Sequence[str],
    lack: str,
) -> str:
    """Return the verdict in words: the kind, its share, the chain of causes, and the idle time."""
    window, idle = write_duration(account.window_ns), account.idle_ns / account.window_ns
    if kind == "undecided":
        return _undecided(account, window, idle, lack)
    if lack:
        return say(
            "{kind}: {label} at least {share} of the analyzed {window}. The device is idle for at "
            "most {idle}: {lack}.",
            kind=_HEADS[kind],
            label=leading.label,
            share=percent(leading.share),
            window=window,
            idle=percent(idle),
            lack=lack,
        )
    head = say(
        "{kind}: {label} {share} of the analyzed {window}",
        kind=_HEADS[kind],
        label=leading.label,
        share=percent(leading.share),
        window=window,
    )
    chain = " ← ".join(link for link in links if link)
    if leading.group == "device":
        part = leading.parts[0] if leading.parts else None
        if part and part.share < leading.share:
            what, share = part.name, percent(part.share)
            head = say("{head} ({what} {share})", head=head, what=what, share=share)
    elif chain and leading.group in ("queue", "outside"):
        head = say("{head}, most before {chain}", head=head, chain=display_name(chain))
    elif chain:
        head = say("{head}, most in {chain}", head=head, chain=chain)
    head = say("{sentence}.", sentence=head)
    return (
        head if kind == "host_only" else join_sentences((head, _idle_words(account, leading, idle)))
    )


def lacking_work(trace: Trace, part: JudgedPart) -> str:
    """Return what of the judged part's work has no times; empty if nothing lacks."""
    if not device_times.may_lack_work_in(trace, part.window):
        return ""
    if missing := device_times.missing_streams(trace):
        return say("the work of {streams} has no times", streams=join_list(missing))
    if trace.meta.unseen_work:
        if all(finding.code != "work_unseen" for finding in trace.meta.findings):
            return say("work that a thread without recorded operators may have launched has none")
        return say("work that no recorded operator launched has no times")
    partial = int(trace.steps.partial[part.steps].sum())
    if len(trace.steps) < 2:
        return say(
            "{launches} left no kernel", launches=plural(trace.meta.lost_launches, "launching call")
        )
    return say(
        "kernels of {partial:,} of {steps} are missing",
        partial=partial,
        steps=plural(len(part.steps), "step"),
    )


def gain_words(
    gains: ClassGains,
    leading: ClassTime,
    kind: VerdictKind,
    alike: Sequence[ClassName],
    judged_steps: int,
) -> Iterator[str]:
    """Yield what is gained without the leading class, and which other classes gain as much.

    ``alike`` are classes with such a gain.
    """
    if kind == "balanced":
        most = gains.share(max(gains.most(group) for group in gains.groups))
        yield say(
            "Nothing limits alone: without any group of classes the analyzed time is at most "
            "{most} shorter.",
            most=percent(most),
        )
        if gains.is_net:
            yield _NET
        return
    gain = gains.classes[leading.name]
    share = percent(gains.share(gain))
    if leading.group == "device" and gains.device_most_ns > gain + LITTLE * gains.step_ns:
        words = say(
            "Without “{label}” the analyzed time is {share} to {most} shorter: the host may wait "
            "for the device in what is not recorded",
            label=leading.label,
            share=share,
            most=percent(gains.share(gains.device_most_ns)),
        )
    else:
        words = say(
            "Without “{label}” the analyzed time is {share} shorter",
            label=leading.label,
            share=share,
        )
    if gains.steps < judged_steps:
        few, steps = gains.steps, plural(judged_steps, "step")
        words = say("{words} ({few} of {steps} replayed)", words=words, few=few, steps=steps)
    yield say("{sentence}.", sentence=words)
    if gains.is_net:
        yield _NET
    if alike:
        labels = join_list([CLASSES[NUMBER[name]].label for name in alike])
        yield say("Others may gain as much: {labels}.", labels=labels)


def _undecided(account: Account, window: str, idle: float, lack: str) -> str:
    if lack:
        return say(
            "The device is busy for at least {busy} of the analyzed {window}, and idle for at most "
            "{idle}: {lack}.",
            busy=percent(1 - idle),
            idle=percent(idle),
            window=window,
            lack=lack,
        )
    if account.idle_bound_ns is None:
        return say(
            "The device is idle for {share} of the analyzed {window}, by estimates without bounds.",
            share=percent(idle),
            window=window,
        )
    low, high = _idle_limits(account, idle, account.idle_bound_ns)
    return say(
        "The device is idle for {share} of the analyzed {window}, by bounds {low} to {high}: they "
        "do not tell whether it is the device that limits.",
        share=percent(idle),
        window=window,
        low=low,
        high=high,
    )


def _idle_limits(account: Account, idle: float, bound_ns: int) -> tuple[str, str]:
    """Return the least and the greatest share of idle time in words."""
    doubt = bound_ns / account.window_ns
    return percent(max(idle - doubt, 0)), percent(min(idle + doubt, 1))


def _with_limits(account: Account, idle: float) -> str:
    """Return the share of idle time in words, with its limits where it is inferred."""
    if not account.idle_bound_ns:
        return percent(idle)
    low, high = _idle_limits(account, idle, account.idle_bound_ns)
    return say("{share}, by bounds {low} to {high}", share=percent(idle), low=low, high=high)


def _idle_words(account: Account, leading: ClassTime, idle: float) -> str:
    """Return the sentence on idle time, with its largest class unless that is the verdict's."""
    share = _with_limits(account, idle)
    most = next((c for c in account.classes if c.group != "device"), None)
    if leading.group != "device" or most is None:
        return say("The device is idle for {share}.", share=share)
    return say(
        "The device is idle for {share} ({label} {part}).",
        share=share,
        label=most.label,
        part=percent(most.share),
    )
