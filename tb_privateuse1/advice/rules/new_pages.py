"""Memory that freed tensors give back to the system, which clears new pages for the next ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice import device_time
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import USUAL
from tb_privateuse1.analysis.idioms.slow_products import Slow
from tb_privateuse1.analysis.recording.capture_notes import (
    KEPT_BYTES,
    RecordedPages,
    recorded_pages,
)
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import with_unit
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import named_rows
from tb_privateuse1.trace.model import MISSING, OPERATOR, Trace
from tb_privateuse1.trace.table import F64, I64

_CONVOLVES = ("convolution", "conv_")
"""In names: oneDNN writes its inputs and results once more, in layouts of its own."""
_GLIBC = "glibc"
"""Others keep what is freed, for some time at least (the tuning guide of PyTorch)."""
_DIFFER, _STAYED = 0.25, 0.1
"""Of the pages: where results and faults differ by more, or more of them stay, something else maps
pages as well. In six programs with the fault they differ by 0.21 and 0.01 stay at most. One that
reads files has five times the faults; where states are written to memory, half of the pages stay.
"""
_OWN = "aten::"
"""How torch names its own operators."""


class _NewPages(Struct, frozen=True, eq=False):
    """Time for new pages per row of ``trace.ops``, and in all: as far as results explain them."""

    ns: F64
    explained_ns: float
    most_ns: float
    """Of all pages that did not stay, at the thread's own rate."""
    are_results: bool
    """Results explain the pages: both are as many, and next to none stay."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the pages that the system maps anew for large results, on a host alone."""
    pages = recorded_pages(case.trace)
    if not case.is_host or pages is None or not (pages.allocator or "").startswith(_GLIBC):
        return
    steps = len(case.trace.steps)
    found = _new_pages(case.trace, pages)
    slow = _slow(case, found.ns)
    claim = device_time.claim_of(case, slow)
    if case.share(intervals.length(claim)) < USUAL:
        return
    rows = case.trace.kernels.op[slow.rows].astype(np.int64)
    yield RuleFinding(
        title=say("The system clears new memory in each step: {share} of the time", share=""),
        explanation=say(
            "{pages:,.0f} pages of {bytes} a step came anew, without more memory in the end. The C "
            "library gives large tensors back to the system when they are freed. For the next ones "
            "it gets new pages, which the system clears at their first touch: {each:,.1f} µs each "
            "on this host.",
            pages=pages.again(steps) / max(steps, 1),
            bytes=with_unit("bytes", pages.page_bytes),
            each=pages.each_ns / 1000,
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=say(
            "Pages of large results by the recorded inputs, at most as many as the process "
            "touched, by what one takes, longer where other programs held the thread up. The "
            "upper end is all its time in the system, as far as its pages did not stay."
        ),
        claim=claim,
        removes=device_time.removal_of(case, slow),
        most=max(found.most_ns / found.explained_ns, 1.0),
        least=1.0 if found.are_results else 0.0,
        confidence="medium" if found.are_results else "low",
        source=case.source(rows),
        lacks=case.lacks("stacks"),
    )


def _slow(case: RuleContext, page_ns: F64) -> Slow:
    """Return the judged activities with the share of their time that goes for new pages."""
    kernels = case.trace.kernels
    rows = np.flatnonzero(case.judged_kernels & (lookup(page_ns, kernels.op, 0.0) > 0))
    duration = np.maximum(kernels.end_ns[rows] - kernels.start_ns[rows], 1)
    return Slow(rows, np.minimum(page_ns[kernels.op[rows]] / duration, 1.0))


def _new_pages(trace: Trace, pages: RecordedPages) -> _NewPages:
    """Return what new pages take by operator: in proportion to what each one writes anew.

    Threads of one operator map their pages beside each other: its time is that of the first.
    """
    # Those of a program or of a backend for collectives may wait without a processor.
    own = named_rows(trace.strings, trace.ops.name, lambda name: name.startswith(_OWN))
    calls = np.flatnonzero(own & (trace.ops.kind == OPERATOR))
    working = intervals.union(trace.ops.start_ns[calls], trace.ops.end_ns[calls])
    slowed = pages.slowed(intervals.length(working))
    size = _new_bytes(trace) / pages.page_bytes
    known = float(size.sum())
    every = pages.again(len(trace.steps))
    again = every * pages.thread_share
    page_ns = min(again / max(known, 1.0), 1.0) * pages.each_ns * slowed
    return _NewPages(
        ns=size * page_ns,
        explained_ns=known * page_ns,
        most_ns=again * pages.most_ns * slowed,
        are_results=pages.stayed <= _STAYED and abs(every - known) <= _DIFFER * known,
    )


def _new_bytes(trace: Trace) -> I64:
    """Return by row of ``trace.ops`` the bytes that it writes to memory of its own, if many."""
    ops, work = trace.ops, operator_work(trace)
    written = np.where((work.written_bytes != MISSING) & (ops.kind == OPERATOR), 1, 0)
    in_place, convolves, ours = (np.zeros(len(trace.strings) + 1, np.bool_) for _ in range(3))
    for name in np.unique(ops.name).tolist():
        text = trace.text(name)
        in_place[name] = text.endswith("_") and not text.endswith("__")
        convolves[name] = any(word in text for word in _CONVOLVES)
        ours[name] = text.startswith(_OWN)
    # A copy or a fill writes what an operator around it has allocated, as ``clone`` does.
    rows = np.flatnonzero(written)
    around = call_tree.around(ops.parent, rows, ~in_place[ops.name])
    is_new = np.zeros(len(ops), np.bool_)
    is_new[rows] = ours[lookup(ops.name, around, -1)]
    both = convolves[ops.name] & (work.read_bytes != MISSING)
    size = np.where(written & is_new, work.written_bytes, 0)
    size += np.where(written & both, work.written_bytes + work.read_bytes, 0)
    return np.where(size >= KEPT_BYTES, size, 0)


RULE = Rule(
    name="new_pages",
    title=say("Memory that the system clears again and again"),
    cause="device",
    looks_for=say(
        "A recording without a device whose capture noted page faults that did not make the "
        "process larger, and operators with results of {least} KiB or more.",
        least=KEPT_BYTES >> 10,
    ),
    why=say(
        "glibc gives large blocks back to the system when they are freed. The next tensor gets "
        "pages that the system clears one by one, within the operator that writes it."
    ),
    fix=say(
        "Keep freed memory in the process: start it with MALLOC_MMAP_MAX_=0 and "
        "MALLOC_TRIM_THRESHOLD_=4294967296, or with jemalloc or tcmalloc in LD_PRELOAD. It then "
        "holds its peak, or more. Fewer temporary results help as well: operators in place, or "
        "with out=."
    ),
    threshold=say("{least} of the step.", least=exact_percent(USUAL)),
    reference=say("PyTorch performance tuning guide, CPU: memory allocators; mallopt(3)."),
    remedy="kept_memory",
    check=check,
    needs=("work", "operators", "shapes", "pages"),
)
