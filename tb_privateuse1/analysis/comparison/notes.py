"""Notes on what makes two traces less comparable, and what they differ in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.analysis.comparison.decomposition import decompositions
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.table import I64

_SAME_PROGRAM = 0.5
"""The least share of operators in both, of those in any: 23 pairs of recordings of one program
(with and without a fault, on two devices, of two torch versions) have 0.56 to 1, with a median of
0.92. Of 1,000 pairs of different programs 85 % have less than 0.5."""


def shared_operators(trace: Trace, base: Trace) -> float | None:
    """Return the share of the operators' names that are in both traces; None without operators."""
    names = [
        {one.text(name) for name in np.unique(one.ops.name[one.ops.kind == OPERATOR]).tolist()}
        for one in (trace, base)
    ]
    return len(names[0] & names[1]) / len(names[0] | names[1]) if all(names) else None


def notes(trace: Trace, base: Trace, now_steps: int, base_steps: int) -> Iterator[Finding]:
    """Return the reasons that make the two less comparable."""
    if trace is base:
        yield Finding("same_trace", say("Both are the same trace."), say("Choose another base."))
    if min(now_steps, base_steps) < 2:
        hint = say("Record several: then the spread over steps says which changes are significant.")
        yield Finding("few_steps", say("One of them has fewer than two complete steps."), hint)
    if bool(len(trace.kernels)) != bool(len(base.kernels)):
        yield Finding(
            "one_without_device", say("Only one of them has device times."), say("By host time.")
        )
    if "inferred" in (trace.meta.timeline, base.meta.timeline):
        message = say("Device times of one of them are inferred.")
        hint = say("A change within their error bounds may be none.")
        yield Finding("inferred", message, hint, severity="info")
    share = shared_operators(trace, base)
    if share is not None and share < _SAME_PROGRAM:
        message = say(
            "They run different programs: {share} of their operators are in both.",
            share=percent(share),
        )
        yield Finding("other_program", message, say("Choose a base of the same program."))
    if trace.meta.vendor != base.meta.vendor:
        hint = say("Compare operators and modules: kernels have other names.")
        yield Finding("other_vendor", say("They come from different accelerators."), hint)


_MOST_DECOMPOSED = 5
"""The operators that a sentence lists, of those with most time first; it counts all."""


def decomposed(trace: Trace, base: Trace, now_steps: I64, base_steps: I64) -> Iterator[Finding]:
    """Return a note on operators for which only the base has a kernel of their own."""
    if found := decompositions(base, trace, base_steps, now_steps):
        message = say(
            "Operators launch more kernels here than in the base: {operators}.",
            operators=join_list(
                say(
                    "{name} ({now:.0f} instead of {base:.0f}, {share} of the device's time)",
                    name=one.name,
                    now=one.now_kernels,
                    base=one.base_kernels,
                    share=percent(one.share),
                )
                for one in found[:_MOST_DECOMPOSED]
            ),
        )
        hint = say("The backend of the base has a kernel for each, which this one could register.")
        yield Finding("decomposed_operators", message, hint, len(found), severity="info")
