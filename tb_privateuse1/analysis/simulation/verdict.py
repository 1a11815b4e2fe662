"""Say in one sentence what limits a recording: what shortens its steps most, by the replay.

Idle time is divided into classes and the device's work is not, so the largest class says little:
the steps are replayed without each group of classes, then without each class of the best group.
Of gains that are alike, as far as the replay knows, that with the most time of the account counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.account import classification
from tb_privateuse1.analysis.account.class_intervals import ClassIntervals, within
from tb_privateuse1.analysis.account.classes import CLASSES, NUMBER, ClassName
from tb_privateuse1.analysis.account.table import (
    Account,
    Cause,
    ClassTime,
    account_table,
    has_account,
    main_cause,
    with_details,
)
from tb_privateuse1.analysis.operators.function_names import ProgramFunction, without_folders
from tb_privateuse1.analysis.recording.judged_part import JudgedPart, judged_part
from tb_privateuse1.analysis.simulation.class_gains import LITTLE, ClassGains, class_gains
from tb_privateuse1.analysis.simulation.verdict_words import (
    VerdictKind,
    gain_words,
    lacking_work,
    sentence,
)
from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.trace import intervals, uncertainty
from tb_privateuse1.trace.isolation import Failure, isolate
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.renamed import renamed

Key = TypeVar("Key")

_ADDRESS = re.compile(" object at 0x[0-9a-f]+")
"""In the names of built-in methods."""


_DEVICE_KINDS: dict[ClassName, VerdictKind] = {
    "exposed_copy": "copies",
    "exposed_fill": "copies",
    "exposed_communication": "communication",
}


class ClassGain(Struct, frozen=True):
    """A class of the account, and what the steps gain without it."""

    name: ClassName
    label: str
    gain_ns: int
    """Per replayed step, on average: that of ``class:NAME=0`` in the what-if of these steps."""
    gain_share: float
    """Of the replayed steps without the profiler's own time, 0 to 1."""


class Verdict(Struct, frozen=True):
    """The limit of the judged part of a recording."""

    kind: VerdictKind
    time_class: ClassName
    """The class that gains most; without a replay that with the most time of the larger part,
    device or idle."""
    gains: tuple[ClassGain, ...]
    """The classes that were replayed, the most gain first; empty without a replay."""
    alike: tuple[ClassName, ...]
    """Classes without which no less may be gained than without ``time_class``."""
    replayed_steps: int
    """Steps from the middle, where all of them would take too long; 0 without a replay."""
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
    Python has its function alone, where there are stacks."""
    operator: str
    """The operator around the call; empty without one."""
    where: ProgramFunction | None
    """The user's function in which most of that time passed; null without Python stacks."""
    longest_start_ns: int
    """The longest interval of the class."""
    longest_ns: int

    source = renamed("source", "where")


@memoize
def steady_verdict(trace: Trace) -> Verdict | None:
    """Return what limits the steady part."""
    return verdict(trace, judged_part(trace))


def verdict(trace: Trace, part: JudgedPart) -> Verdict | None:
    """Return what limits the judged part; None without device times, or if nothing is judged.

    None, too, of annotations alone: whether operators or Python took their time is not recorded.
    """
    if not has_account(trace) or not intervals.length(part.window):
        return None
    recorded = (trace.kernels, trace.launches, trace.frames)
    if not any(map(len, recorded)) and not (trace.ops.kind == OPERATOR).any():
        return None
    window_bound_ns = steps_bounds.total_bound(trace, part.steps)
    account = account_table(trace, part.window, window_bound_ns=window_bound_ns, detailed=False)
    kind, leading = _leading(trace, account)
    lack = lacking_work(trace, part)
    gains, failure = None, ""
    if kind not in ("host_only", "undecided") and not lack:
        gains, failure = _replayed(trace, part, account)
    if gains is not None:
        kind, leading = _gaining(account, gains)
    own = within(classification.classify_time(trace), part.window)
    own = own.take(np.flatnonzero(own.time_class == NUMBER[leading.name]))
    leading = with_details(trace, leading, own, account.window_ns)
    cause = Cause("", "", None) if lack else _cause(trace, own, leading)
    longest = leading.largest[0]
    alike = () if gains is None else _alike(account, gains, leading)
    more = [failure] if failure else []
    if gains is not None:
        more = list(gain_words(gains, leading, kind, alike, len(part.steps)))
    links = [cause.name, cause.operator]
    if cause.where is not None:
        links += [cause.where.inner or "", cause.where.title]
    said = sentence(kind, account, leading, list(map(without_folders, links)), lack)
    return Verdict(
        kind=kind,
        time_class=leading.name,
        gains=_class_gains(gains),
        alike=alike,
        replayed_steps=0 if gains is None else gains.steps,
        sentence=join_sentences((said, *more)),
        ns=leading.ns,
        bound_ns=leading.bound_ns,
        judged_share=leading.share,
        judged_ns=account.window_ns,
        cause=cause.name,
        operator=cause.operator,
        where=cause.where,
        longest_start_ns=longest.start_ns,
        longest_ns=longest.duration_ns,
    )


def _replayed(trace: Trace, part: JudgedPart, account: Account) -> tuple[ClassGains | None, str]:
    """Return the gains of the classes, or why there are none."""
    if _is_unlinked(trace):
        return None, say(
            "Not replayed: most device activities have no launch, so nothing shows what they wait "
            "for."
        )
    found = isolate(say("The replay of the verdict"), lambda: class_gains(trace, part, account))
    if isinstance(found, Failure):
        return None, say("Not replayed: the replay failed ({reason}).", reason=found.reason)
    if found is None:
        return None, say(
            "Not replayed: a step is too long for that, or no class of its time can change."
        )
    if _contradicts(account, found):
        return None, say("Not replayed: the replay gains more than the account allows.")
    return found, ""


def _is_unlinked(trace: Trace) -> bool:
    """Return whether a host is recorded, but not what launched most activities."""
    kernels = trace.kernels
    return len(trace.ops) > 0 and 2 * int(((kernels.launch < 0) & (kernels.op < 0)).sum()) > len(
        kernels
    )


def _contradicts(account: Account, gains: ClassGains) -> bool:
    """Return whether a class gains more than its own time and that in which the device works.

    In the rest the device is idle for another reason, which is still there without the class.
    """
    busy_ns = account.window_ns - account.idle_ns
    return any(
        gains.classes.get(one.name, 0) / gains.step_ns
        > (one.ns + busy_ns) / account.window_ns + LITTLE
        for one in account.classes
        if one.group != "device"
    )


def _gaining(account: Account, gains: ClassGains) -> tuple[VerdictKind, ClassTime]:
    """Return the kind of verdict, and the class of the account without which most is gained."""
    spent = dict.fromkeys(gains.groups, 0)
    for one in account.classes:
        if one.group in spent:
            spent[one.group] += one.ns
    most = {group: gains.most(group) for group in gains.groups}
    group = max(_near(most, gains), key=lambda name: spent[name])
    own = {one.name: one for one in account.classes if one.group == group}
    classes = {name: ns for name, ns in gains.classes.items() if name in own}
    near = _near(classes, gains)
    leading = max((own[name] for name in near), key=lambda one: one.ns)
    if max(most.values()) <= LITTLE * gains.step_ns:
        return "balanced", leading
    return _DEVICE_KINDS.get(leading.name, leading.group), leading


def _near(of: Mapping[Key, int], gains: ClassGains) -> list[Key]:
    """Return the names whose gain may be the greatest one."""
    most = max(of.values(), default=0)
    return [name for name, ns in of.items() if gains.may_exceed(ns, most)]


def _class_gains(gains: ClassGains | None) -> tuple[ClassGain, ...]:
    if gains is None:
        return ()
    order = sorted(gains.classes.items(), key=lambda one: -one[1])
    return tuple(
        ClassGain(name, CLASSES[NUMBER[name]].label, ns, gains.share(ns)) for name, ns in order
    )


def _alike(account: Account, gains: ClassGains, leading: ClassTime) -> tuple[ClassName, ...]:
    """Return the classes without which no less may be gained than without the leading one."""
    most = gains.classes.get(leading.name, 0)
    return tuple(
        one.name
        for one in account.classes
        if one.name != leading.name
        and one.name in gains.classes
        and gains.may_exceed(gains.classes[one.name], most)
    )


def _leading(trace: Trace, account: Account) -> tuple[VerdictKind, ClassTime]:
    """Return the largest class of the larger part, device or idle, and whether that is sure."""
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


def _cause(trace: Trace, own: ClassIntervals, leading: ClassTime) -> Cause:
    """Return the name with the most time of a class, the operator around it and the function."""
    cause = leading.parts[0].name if leading.parts else ""
    if leading.group not in ("blocked", "host"):
        return Cause(cause, "", None)
    found = main_cause(trace, own)
    if leading.name == "python" and found.where is not None:
        return found
    return replace(found, name=found.name or _ADDRESS.sub("", cause))
