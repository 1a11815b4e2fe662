"""Name what differs in the parts of two recordings that a comparison leaves out.

A step that is not steady has no row in a comparison. What only one recording has, and has there
alone, would not be named at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tb_privateuse1.analysis.kernel_names import display_name
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.step_names import PHASES

_NAMED = 5
"""The names that a sentence lists; it counts all."""


def left_out_work(now: Window, base: Window) -> Iterator[Finding]:
    """Yield a note on operators and kernels that one recording has, and only in what is left out.

    A step or phase that was asked for leaves out the rest because the user said so: then there is
    no note.
    """
    if {now.kind, base.kind} & {"step", *PHASES}:
        return
    new, gone = _only(now, base.trace), _only(base, now.trace)
    if new:
        message = say(
            "Only in what is left out here ({window}), and not in the base: {names}.",
            window=now.facts.text,
            names=_listed(new),
        )
        yield Finding("left_out_new", message, _HINT, len(new), severity="info")
    if gone:
        message = say(
            "Only in what is left out of the base ({window}), and not here: {names}.",
            window=base.facts.text,
            names=_listed(gone),
        )
        yield Finding("left_out_gone", message, _HINT, len(gone), severity="info")


_HINT = say("Compare all (window=all) to count it.")


def _only(window: Window, other: Trace) -> list[str]:
    """Return what runs in a recording, but neither in its window nor in the other recording."""
    trace = window.trace
    inside = _names(trace, window.ops, window.kernels)
    every = np.ones(len(trace.ops), np.bool_), np.ones(len(trace.kernels), np.bool_)
    there = np.ones(len(other.ops), np.bool_), np.ones(len(other.kernels), np.bool_)
    return sorted(_names(trace, *every) - inside - _names(other, *there))


def _names(trace: Trace, ops: np.ndarray, kernels: np.ndarray) -> set[str]:
    """Return the names of some operators and device activities."""
    of_ops = np.unique(trace.ops.name[ops & (trace.ops.kind == OPERATOR)])
    of_kernels = np.unique(trace.kernels.name[kernels])
    return {trace.text(one) for one in np.union1d(of_ops, of_kernels).tolist()}


def _listed(names: Sequence[str]) -> str:
    shown = [display_name(one) for one in names[:_NAMED]]
    if more := len(names) - len(shown):
        shown.append(say("{more} more", more=more))
    return join_list(shown)
