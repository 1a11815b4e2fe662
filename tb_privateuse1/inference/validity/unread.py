"""Count the events that no table has, and say what a file without any readable event is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tb_privateuse1.i18n import Text, join_list, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.findings import ALL, LONGEST_INLINE, Finding
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.vendor import Vendor

_MOST_LISTED = 5
"""A hostile file has a million categories."""

_KNOWN = frozenset(
    (
        *("cpu_op", "operator", "user_annotation", "python_function", "trace", "overhead"),
        *("cuda_sync", "enqueue", "cpu_instant_event", "dataloader", "device_kernel", ""),
    )
)
"""Categories that are read, or whose events are no work; those of devices begin with ``gpu_``."""

_OTHER_TOOLS: dict[str, Text] = {
    "dynamo_timed": say(
        "It is a log of torch.compile (tlparse's chromium_events.json): it has compilation alone. "
        "Open it in Perfetto; a recording of torch.profiler shows the compiled program."
    ),
}
"""What a file is, by a category that only another tool writes."""
_XLA = re.compile(r"^/(device|host):")
"""Matches a process of XLA's profiler: ``/device:TPU:0``, ``/host:CPU``."""


def unread_findings(raw: Raw, vendor: Vendor) -> Iterator[Finding]:
    """Yield the findings about events of unknown categories, and of those without one."""
    known = vendor.kernel_categories | vendor.memcpy_categories | vendor.memset_categories
    unknown = []
    for category, group in raw.groups.items():
        lower = category.lower()
        if len(group) and not (
            lower in known | _KNOWN
            or lower.startswith("gpu_")
            or vendor.launch_categories.search(lower)
        ):
            unknown.append((len(group), category))
    unknown.sort(reverse=True)
    listed: list[tuple[int, str]] = [
        (n, say("the unknown category {name!r}", name=shorten(name, LONGEST_INLINE)))
        for n, name in unknown[:_MOST_LISTED]
    ]
    if rest := unknown[_MOST_LISTED:]:
        listed.append(
            (sum(n for n, _ in rest), say("{count:,} more unknown categories", count=len(rest)))
        )
    listed += _without_category(raw)
    for n, what in listed:
        message = say("{count:,} events of {what} are not shown.", count=n, what=what)
        yield Finding("unknown_category", message, count=n, affects=ALL)


def _without_category(raw: Raw) -> Iterator[tuple[int, str]]:
    """Yield the number of events without a category, and the words for their processes."""
    events = raw.groups.get("")
    if events is None or not len(events):
        return
    pids = Counter(raw.threads.pid[events.thread].tolist()).most_common()
    names = [raw.strings[pid] if pid >= 0 else "" for pid, _ in pids]
    shown = [raw.process_names.get(name, name) for name in names[:_MOST_LISTED]]
    more = ", …" if len(pids) > _MOST_LISTED else ""
    processes = join_list(shorten(name, LONGEST_INLINE) for name in shown) + more
    yield len(events), say("no category, in the processes {names}", names=processes)


def is_empty(trace: Trace) -> bool:
    """Return whether nothing was read from a file: no range, no activity, no memory event."""
    tables = (trace.ops, trace.frames, trace.launches, trace.kernels, trace.memory)
    others = (trace.collective_entries, trace.counter_samples, trace.device_annotations)
    return not any(map(len, (*tables, *others)))


def nothing_read(raw: Raw, vendor: Vendor) -> Finding:
    """Return the finding of a file from which nothing was read: what it has, and what to do."""
    ranges = {category: len(group) for category, group in raw.groups.items() if len(group)}
    if not ranges:
        return Finding(
            "no_events", say("The file has no events."), vendor.record_hint, 0, "error", ALL
        )
    names = sorted(ranges, key=lambda name: -ranges[name])[:_MOST_LISTED]
    message = say(
        "None of the file's {count:,} events is read here. Their categories: {names}.",
        count=sum(ranges.values()),
        names=join_list(
            say(
                "{name}: {count:,}",
                name=shorten(name, LONGEST_INLINE) or say("none"),
                count=ranges[name],
            )
            for name in names
        ),
    )
    known = (hint for category, hint in _OTHER_TOOLS.items() if category in ranges)
    hint = next(known, say("Is it a trace of another tool? Record with torch.profiler."))
    if any(map(_XLA.search, raw.process_names.values())):
        hint = say(
            "It is a trace of XLA's profiler (torch_xla, JAX). Open it in XProf; a recording of "
            "torch.profiler has the operators of torch."
        )
    return Finding("nothing_read", message, hint, sum(ranges.values()), "error", ALL)
