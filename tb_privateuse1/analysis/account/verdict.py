"""Say in one sentence what limits a recording: the account of its judged part, in short."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account import stretches as time_stretches
from tb_privateuse1.analysis.account.classes import NUMBER, ClassName
from tb_privateuse1.analysis.account.host_activity import LAUNCHES, TABLES
from tb_privateuse1.analysis.account.pieces import Stretches, within
from tb_privateuse1.analysis.account.table import (
    Account,
    ClassTime,
    account_table,
    has_account,
    with_details,
)
from tb_privateuse1.analysis.kernel_names import display_name
from tb_privateuse1.analysis.operators import source_lines
from tb_privateuse1.analysis.recording.durations import write_duration, write_share
from tb_privateuse1.analysis.recording.judged_part import JudgedPart, judged_part
from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.i18n import join_list, join_sentences, plural, say
from tb_privateuse1.trace import device_times, groupby, intervals, uncertainty
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64

VerdictKind = Literal[
    "device",
    "copies",
    "communication",
    "blocked",
    "host",
    "queue",
    "outside",
    "undecided",
    "host_only",
]
"""What takes most of the judged time. ``host_only``: no device was used. ``undecided``: the bounds
of an inferred timeline allow the device and its idle time to be the larger part."""

_ADDRESS = re.compile(" object at 0x[0-9a-f]+")
"""In the names of built-in methods."""

_HEADS: dict[VerdictKind, str] = {
    "device": say("Device-bound"),
    "copies": say("Copy-bound"),
    "communication": say("Communication-bound"),
    "blocked": say("Host-blocked"),
    "host": say("Host-bound"),
    "queue": say("Queue-bound"),
    "outside": say("Cause not recorded"),
    "host_only": say("Host only"),
}

_DEVICE_KINDS: dict[ClassName, VerdictKind] = {
    "exposed_copy": "copies",
    "exposed_fill": "copies",
    "exposed_communication": "communication",
}


class Verdict(Struct, frozen=True):
    """The limit of the judged part of a recording."""

    kind: VerdictKind
    time_class: ClassName
    """The class with the most time of the larger part, device or idle."""
    sentence: str
    ns: int
    """The time of that class."""
    bound_ns: int | None
    """How far off ``ns`` may be; 0 if measured, null if that is not known."""
    judged_share: float
    """Of the judged time, 0 to 1."""
    judged_ns: int
    cause: str
    """The call, operator or kind of work with the most time of the class; empty without one.
    Python has its line alone, where there are stacks."""
    operator: str
    """The operator around the call; empty without one."""
    source: str | None
    """The user's line in which most of that time passed; null without Python stacks."""
    longest_start_ns: int
    """The longest stretch of the class."""
    longest_ns: int


@memoize
def steady_verdict(trace: Trace) -> Verdict | None:
    """Return what limits the steady part."""
    return verdict(trace, judged_part(trace))


def verdict(trace: Trace, part: JudgedPart) -> Verdict | None:
    """Return what limits the judged part; None without device times, or if nothing is judged."""
    if not has_account(trace) or not intervals.length(part.window):
        return None
    bounds = steps_bounds.step_windows(trace).bound(trace.steps)
    window_bound_ns = uncertainty.bound_sum(bounds[part.steps])
    account = account_table(trace, part.window, window_bound_ns=window_bound_ns, detailed=False)
    kind, leading = _leading(trace, account)
    own = within(time_stretches.time_stretches(trace), part.window)
    own = own.take(np.flatnonzero(own.time_class == NUMBER[leading.name]))
    leading = with_details(trace, leading, own, account.window_ns)
    lack = _lack(trace, part)
    cause, operator, source = ("", "", None) if lack else _chain(trace, own, leading)
    longest = leading.largest[0]
    return Verdict(
        kind=kind,
        time_class=leading.name,
        sentence=_sentence(
            kind,
            account,
            leading,
            (cause, operator, source or ""),
            lack,
        ),
        ns=leading.ns,
        bound_ns=leading.bound_ns,
        judged_share=leading.share,
        judged_ns=account.window_ns,
        cause=cause,
        operator=operator,
        source=source,
        longest_start_ns=longest.start_ns,
        longest_ns=longest.duration_ns,
    )


def _leading(trace: Trace, account: Account) -> tuple[VerdictKind, ClassTime]:
    """Return the kind of verdict, and the largest class of the larger part: device or idle."""
    if not len(trace.kernels):
        return "host_only", account.classes[0]
    busy_ns = account.window_ns - account.idle_ns
    # Of idle time, missing activities may explain any part: no reason of it is known.
    is_busy = busy_ns > account.idle_ns or (busy_ns > 0 and account.idle_bound_ns is None)
    leading = next(c for c in account.classes if (c.group == "device") == is_busy)
    doubt_ns = account.idle_bound_ns
    # Missing work only adds to what the device is known to have done for more than half the time.
    is_most = is_busy and 2 * leading.ns > account.window_ns
    if is_most and trace.meta.lost_launches and uncertainty.all_measured(trace.kernels):
        return _DEVICE_KINDS.get(leading.name, leading.group), leading
    if doubt_ns is None or abs(busy_ns - account.idle_ns) < 2 * doubt_ns:
        return "undecided", leading
    return _DEVICE_KINDS.get(leading.name, leading.group), leading


def _chain(trace: Trace, own: Stretches, leading: ClassTime) -> tuple[str, str, str | None]:
    """Return the name with the most time of a class, the operator around it and the user's line."""
    cause = leading.parts[0].name if leading.parts else ""
    if leading.group not in ("blocked", "host"):
        return cause, "", None
    name, operator = _host_names(trace, own)
    first, group = groupby.group_rows(name, operator)
    total = groupby.sums(group, own.end_ns - own.start_ns, len(first))
    most = int(np.argmax(total))
    some = own.take(np.flatnonzero(group == most))
    line = source_lines.line_of_most(trace, some.thread, some.start_ns, some.end_ns)
    row = int(first[most])
    if leading.name == "python":
        return _ADDRESS.sub("", cause) if line is None else "", "", line
    around = trace.text(int(operator[row])) if operator[row] >= 0 else ""
    return trace.text(int(name[row])) if name[row] >= 0 else cause, around, line


def _host_names(trace: Trace, own: Stretches) -> tuple[I64, I64]:
    """Return the name of each stretch's call or operator, and of the operator around a call."""
    name, operator = np.full(len(own), NONE), np.full(len(own), NONE)
    known = own.row >= 0
    for number, table in enumerate(TABLES):
        here = np.flatnonzero(known & (own.table == number))
        name[here] = getattr(trace, table).name[own.row[here]]
    calls = np.flatnonzero(known & (own.table == LAUNCHES))
    around = trace.launches.op[own.row[calls]]
    operator[calls] = lookup(trace.ops.name, around, NONE)
    return name, operator


def _sentence(
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
            "{kind}: {label} at least {share} of the judged {window}. The device is idle for at "
            "most {idle}: {lack}.",
            kind=_HEADS[kind],
            label=leading.label,
            share=write_share(leading.share),
            window=window,
            idle=write_share(idle),
            lack=lack,
        )
    head = say(
        "{kind}: {label} {share} of the judged {window}",
        kind=_HEADS[kind],
        label=leading.label,
        share=write_share(leading.share),
        window=window,
    )
    chain = " ← ".join(link for link in links if link)
    if leading.group == "device":
        part = leading.parts[0] if leading.parts else None
        if part and part.share < leading.share:
            what, share = part.name, write_share(part.share)
            head = say("{head} ({what} {share})", head=head, what=what, share=share)
    elif chain and leading.group in ("queue", "outside"):
        head = say("{head}, most before {chain}", head=head, chain=display_name(chain))
    elif chain:
        head = say("{head}, most in {chain}", head=head, chain=chain)
    head = say("{sentence}.", sentence=head)
    return head if kind == "host_only" else join_sentences((head, _idle(account, leading, idle)))


def _lack(trace: Trace, part: JudgedPart) -> str:
    """Return what of the judged part's work has no times; empty if nothing lacks."""
    if not device_times.may_lack_work_in(trace, part.window):
        return ""
    if missing := device_times.missing_streams(trace):
        return say("the work of {streams} has no times", streams=join_list(missing))
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


def _undecided(account: Account, window: str, idle: float, lack: str) -> str:
    if lack:
        return say(
            "The device is busy for at least {busy} of the judged {window}, and idle for at most "
            "{idle}: {lack}.",
            busy=write_share(1 - idle),
            idle=write_share(idle),
            window=window,
            lack=lack,
        )
    if account.idle_bound_ns is None:
        return say(
            "The device is idle for {share} of the judged {window}, by estimates without bounds.",
            share=write_share(idle),
            window=window,
        )
    low, high = _idle_limits(account, idle, account.idle_bound_ns)
    return say(
        "The device is idle for {share} of the judged {window}, by bounds {low} to {high}: they do "
        "not tell whether it is the device that limits.",
        share=write_share(idle),
        window=window,
        low=low,
        high=high,
    )


def _idle_limits(account: Account, idle: float, bound_ns: int) -> tuple[str, str]:
    """Return the least and the greatest share of idle time in words."""
    doubt = bound_ns / account.window_ns
    return write_share(max(idle - doubt, 0)), write_share(min(idle + doubt, 1))


def _with_limits(account: Account, idle: float) -> str:
    """Return the share of idle time in words, with its limits where it is inferred."""
    if not account.idle_bound_ns:
        return write_share(idle)
    low, high = _idle_limits(account, idle, account.idle_bound_ns)
    return say("{share}, by bounds {low} to {high}", share=write_share(idle), low=low, high=high)


def _idle(account: Account, leading: ClassTime, idle: float) -> str:
    """Return the sentence on idle time, with its largest class unless that is the verdict's."""
    share = _with_limits(account, idle)
    most = next((c for c in account.classes if c.group != "device"), None)
    if leading.group != "device" or most is None:
        return say("The device is idle for {share}.", share=share)
    return say(
        "The device is idle for {share} ({label} {part}).",
        share=share,
        label=most.label,
        part=write_share(most.share),
    )
