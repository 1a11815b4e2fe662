"""Handle backends that launch from a thread of their own (a task queue, as torch_npu's).

An operator only enqueues a task there and returns; the queue's thread dequeues the tasks in order
and calls the device. In the trace that is a range of category ``dequeue`` with an arrow
(``async_task_queue``) from the enqueuing operator. All calls to the device pass through the queue,
the events around operators too. So the inference uses the times at which the queue had passed them.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.inference import flow_arrows
from tb_privateuse1.readers.raw import Flows, Group
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import latest_not_after
from tb_privateuse1.trace.findings import DEVICE, Finding
from tb_privateuse1.trace.model import NONE, OPERATOR, Ops
from tb_privateuse1.trace.table import I32, I64, Bools

CATEGORY = "dequeue"


class Tasks(Struct, frozen=True):
    """Calls that a queue made, in the order of their enqueuing, and when they were done.

    ``unlinked`` is the number of a queue's calls without an arrow.
    """

    enqueued_ns: I64
    end_ns: I64
    unlinked: int = 0

    def __len__(self) -> int:
        return len(self.end_ns)


def link_tasks(
    flows: Flows, calls: Group, wanted: Bools, ops: Ops, dequeued: int
) -> tuple[I32, Tasks]:
    """Return the operator of each wanted call (``NONE`` without an arrow), and its tasks.

    ``dequeued`` is the number of calls that a queue made.
    """
    thread, at_ns = flow_arrows.arrow_tails(flows, calls.thread, calls.start_ns, wanted)
    rows = np.flatnonzero(thread >= 0)
    operators = np.flatnonzero(ops.kind == OPERATOR)
    caller = np.full(len(calls), NONE, np.int32)
    if len(rows) and len(operators):
        inner = intervals.innermost(
            ops.thread[operators], ops.start_ns[operators], ops.end_ns[operators],
            thread[rows], at_ns[rows],
        )  # fmt: skip
        caller[rows] = np.where(inner >= 0, operators[inner], NONE)
    order = rows[np.argsort(at_ns[rows], kind="stable")]
    unlinked = max(dequeued - len(order), 0)
    return caller, Tasks(at_ns[order], calls.end_ns[order], unlinked)


def queue_findings(tasks: Tasks) -> tuple[Finding, ...]:
    """Return a finding if calls of a queue have no arrow."""
    if not tasks.unlinked:
        return ()
    message = say(
        "{count:,} calls of a task queue have no arrow from where they were enqueued: "
        "kernels may have started later than inferred, beyond their bounds.",
        count=tasks.unlinked,
    )
    hint = say("Arrows of category async_task_queue from each enqueue to its dequeue tell it.")
    return (Finding("queue_untold", message, hint, tasks.unlinked, affects=DEVICE),)


def passing_times(ops: Ops, tasks: Tasks) -> Ops:
    """Return the operators at the times at which the queue had passed their starts and ends.

    That is when all tasks enqueued before were done, and no earlier than on the host. Times that
    pass together stay in order, a nanosecond apart.
    """
    if not len(tasks):
        return ops
    done = np.maximum.accumulate(tasks.end_ns)
    host, at = np.unique(np.concatenate((ops.start_ns, ops.end_ns)), return_inverse=True)
    before = latest_not_after(tasks.enqueued_ns, host)
    arrived = np.maximum(host, np.where(before >= 0, done[before], host))
    turn = np.arange(len(host))
    arrived = (np.maximum.accumulate(arrived - turn) + turn)[at.reshape(-1)]
    return replace(ops, start_ns=arrived[: len(ops)], end_ns=arrived[len(ops) :])
