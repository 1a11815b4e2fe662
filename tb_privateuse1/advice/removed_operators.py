"""Count the launches and the device work that a fix removes with its operators."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice import device_time
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.analysis.idioms.partly_read_products import gradients_of
from tb_privateuse1.analysis.simulation.scopes import Scope
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I64


class Needless(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` that need not run, and the share of each one's work that goes."""

    rows: I64
    shares: F64

    @classmethod
    def of(cls, shares: F64) -> Needless:
        """Return the rows with a share, which has an entry per row of ``trace.ops``."""
        rows = np.flatnonzero(shares > 0)
        return cls(rows, shares[rows])


def with_gradients(trace: Trace, work: Needless) -> Needless:
    """Return forward work with what computes its gradients: the same share of it goes."""
    gradients, of = gradients_of(trace, work.rows)
    return Needless(np.append(work.rows, gradients), np.append(work.shares, work.shares[of]))


class Removed(Struct, frozen=True, eq=False):
    """The judged part of needless work, the instants that it costs, and its removal."""

    rows: I64
    claim: intervals.Set
    removes: Scope
    gaps: intervals.Set
    """The time between these operators."""


def remove(case: RuleContext, work: Needless) -> Removed:
    """Return what the removal of work saves: on the device, and on the host where that is late.

    Without a device an operator's own time on the host is its work. With one, an operator that
    goes only in part is still launched.
    """
    judged = case.judged[work.rows]
    rows, shares = work.rows[judged], work.shares[judged]
    wanted, share_of = np.zeros(len(case.trace.ops), np.bool_), np.zeros(len(case.trace.ops))
    wanted[rows], share_of[rows] = True, shares
    kernels = case.launched_by(wanted)
    kernel_shares = share_of[case.around(case.trace.kernels.op[kernels], wanted)]
    start, end = case.trace.ops.start_ns[rows], case.trace.ops.end_ns[rows]
    on_host = np.floor(shares) if len(case.trace.kernels) else shares
    gaps = _gaps(case, rows[shares == 1])
    spent = intervals.union(start, start + ((end - start) * on_host).astype(np.int64))
    spent = intervals.merge(spent, gaps)
    device = device_time.of_device(case, device_time.shortened(case, kernels, kernel_shares))
    host = case.of_host(spent) or intervals.EMPTY
    return Removed(
        rows=rows,
        claim=intervals.merge(device, host),
        removes=case.without(
            ops=rows, instants=gaps, share=on_host, kernels=kernels, kernel_share=kernel_shares
        ),
        gaps=gaps,
    )


def _gaps(case: RuleContext, rows: I64) -> intervals.Set:
    """Return the time between operators that go and have no other operator between them.

    It is that of the code, or of autograd's engine, that calls them.
    """
    ops, top = case.trace.ops, case.top_in_order
    goes = np.zeros(len(ops), np.bool_)
    goes[rows] = True
    first, second = top[:-1], top[1:]
    both = goes[first] & goes[second] & (ops.thread[first] == ops.thread[second])
    return intervals.union(ops.end_ns[first[both]], ops.start_ns[second[both]])
