"""Find whether a recording trains, infers or serves, with the event that shows it."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators import kinds_of_work
from tb_privateuse1.analysis.recording import capture_and_compilation
from tb_privateuse1.analysis.steps import training_phases
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.findings import LONGEST_INLINE
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import ANNOTATION, OPERATOR, Trace
from tb_privateuse1.trace.table import I64, Bools

WorkloadKind = Literal["training", "inference", "serving", "unknown"]

_PREFILL = re.compile(r"prefill|\bextend\b|context_[1-9]", re.IGNORECASE)
_DECODE = re.compile(r"\bdecode|generation_[1-9]", re.IGNORECASE)
"""Words of serving engines for their two kinds of iterations. Where a name counts both kinds of
requests (``context_1(…)_generation_0(…)``), the count must not be 0."""

_MATRIX: tuple[kinds_of_work.Kind, ...] = (
    "gemm",
    "convolution",
    "attention",
    "recurrent",
    "compiled",
)


class Workload(Struct, frozen=True):
    """The kind of a recording's work, with its evidence."""

    kind: WorkloadKind
    reason: str
    op: int | None
    """The event that shows it: a row of ``trace.ops``."""
    prefill: int = 0
    """Annotated prefill iterations of serving."""
    decode: int = 0
    """Annotated decode iterations."""
    prefill_ns: int | None = None
    """Median time from the start of a prefill iteration to that of the next iteration."""
    decode_ns: int | None = None
    """The same of decode iterations; None of fewer than two."""
    mixed: int = 0
    """Annotated iterations of both."""
    mixed_ns: int | None = None
    """The same of these."""


@memoize
def workload(trace: Trace) -> Workload:
    """Return the workload; ``unknown`` if no event shows it."""
    return _training(trace) or _serving(trace) or _inference(trace) or _unknown()


def _unknown() -> Workload:
    return Workload("unknown", say("No event shows whether it trains or infers."), None)


def _training(trace: Trace) -> Workload | None:
    """Return training if gradients are computed or an optimizer steps."""
    real = _outside_compilers(trace)
    backward = np.flatnonzero((call_tree.linked_forward(trace) >= 0) & real)
    if len(backward):
        reason = say("Operators of a backward pass have the sequence numbers of forward operators.")
        return Workload("training", reason, int(backward[0]))
    kinds = training_phases.phase_kinds(trace)
    for kind, reason in (
        (training_phases.BACKWARD, say("The autograd engine runs.")),
        (training_phases.STEPPING, say("An optimizer takes a step.")),
        (training_phases.RESETTING, say("An optimizer resets its gradients.")),
    ):
        rows = np.flatnonzero((kinds == kind) & real)
        if len(rows):
            return Workload("training", reason, int(rows[0]))
    return None


def _outside_compilers(trace: Trace) -> Bools:
    """Return by row of ``trace.ops`` whether it runs, instead of being traced by a compiler."""
    time, *_ = capture_and_compilation.compilations(trace)
    starts = trace.ops.start_ns
    outside: Bools = intervals.covered_length(time, starts, starts + 1) == 0
    return outside


def _serving(trace: Trace) -> Workload | None:
    """Return serving if annotations name prefill or decode iterations."""
    ops = trace.ops
    rows = np.flatnonzero(ops.kind == ANNOTATION)
    if not len(rows):
        return None
    decode, prefill = (_outermost(trace, rows, pattern) for pattern in (_DECODE, _PREFILL))
    if not len(decode) and not len(prefill):
        return None
    row = int((decode if len(decode) else prefill)[0])
    reason = say(
        "The annotation {name} names an iteration.",
        name=shorten(trace.text(ops.name[row]), LONGEST_INLINE),
    )
    starts = ops.start_ns[np.union1d(prefill, decode)]
    both = np.intersect1d(prefill, decode)
    prefill, decode = np.setdiff1d(prefill, both), np.setdiff1d(decode, both)
    return Workload(
        "serving", reason, row, prefill=len(prefill), decode=len(decode), mixed=len(both),
        prefill_ns=_usual_period(ops.start_ns[prefill], starts),
        decode_ns=_usual_period(ops.start_ns[decode], starts),
        mixed_ns=_usual_period(ops.start_ns[both], starts),
    )  # fmt: skip


def _usual_period(own_ns: I64, all_ns: I64) -> int | None:
    """Return the median time from each start to the next of all; None of fewer than two."""
    if len(own_ns) < 2:
        return None
    every = np.unique(all_ns)
    at = np.searchsorted(every, np.unique(own_ns), side="right")
    periods = every[at[at < len(every)]] - every[at[at < len(every)] - 1]
    return round(float(np.median(periods))) if len(periods) else None


def _outermost(trace: Trace, rows: I64, pattern: re.Pattern[str]) -> I64:
    """Return the annotations that match, and lie in no other one that does."""
    ops = trace.ops
    names = [
        n for n in groupby.distinct_values(ops.name[rows]).tolist() if pattern.search(trace.text(n))
    ]
    found = rows[np.isin(ops.name[rows], names)]
    order = np.lexsort((ops.start_ns[found], ops.thread[found]))
    found = found[order]
    if len(found) < 2:
        return found
    wanted = mask_of(found, len(ops))
    inside = np.zeros(len(found), np.bool_)
    at = ops.parent[found]
    while (at >= 0).any():
        inside |= (at >= 0) & wanted[at]
        at = np.where(at >= 0, ops.parent[at], at)
    return found[~inside]


def _inference(trace: Trace) -> Workload | None:
    """Return inference if there are matrix operators, and none of them records a gradient."""
    ops = trace.ops
    own = (ops.kind == OPERATOR) & _outside_compilers(trace)
    if (ops.sequence[own] >= 0).any():
        return None
    used = groupby.distinct_values(ops.name[own]).tolist()
    kinds = kinds_of_work.kinds_of(map(trace.text, used), trace.vendor)
    names = [name for name, kind in zip(used, kinds, strict=True) if kind in _MATRIX]
    rows = np.flatnonzero(own & np.isin(ops.name, names))
    if not len(rows):
        return None
    reason = say("No operator has a sequence number: gradients are off.")
    return Workload("inference", reason, int(rows[0]))
