"""Backends that hand their launches to a thread of their own (a task queue, as torch_npu's).

An operator only enqueues a task there, and returns; the queue's thread takes the tasks out in their
order and calls the device. In the trace that is a range of category ``dequeue`` with an arrow
(``async_task_queue``) from where it was enqueued. Whatever the host gives the device passes through
the queue, the events around operators too: what follows from the time of a host's call follows
here from when the queue had passed it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.i18n import say
from tb_privateuse1.inference import flow_arrows
from tb_privateuse1.readers.raw import Flows, Group
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import DEVICE, Finding
from tb_privateuse1.trace.model import NONE, OPERATOR, Ops
from tb_privateuse1.trace.table import I32, I64, Bools

CATEGORY = "dequeue"


@dataclass(frozen=True)
class Tasks:
    """Calls that a queue made: when each was enqueued, and when it was done; in the order in which
    they were enqueued. ``untold``: calls of a queue without an arrow.
    """

    enqueued_ns: I64
    end_ns: I64
    untold: int = 0

    def __len__(self) -> int:
        return len(self.end_ns)


def link_tasks(
    flows: Flows, calls: Group, wanted: Bools, ops: Ops, dequeued: int
) -> tuple[I32, Tasks]:
    """The operator of each wanted call (``NONE`` if no arrow tells), and the tasks they are.

    ``dequeued`` is how many calls a queue made.
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
    untold = max(dequeued - len(order), 0)
    return caller, Tasks(at_ns[order], calls.end_ns[order], untold)


def queue_findings(tasks: Tasks) -> tuple[Finding, ...]:
    """What an inferred timeline lacks of its queue."""
    if not tasks.untold:
        return ()
    message = say(
        "{count:,} calls of a task queue have no arrow from where they were enqueued: "
        "kernels may have started later than inferred, beyond their bounds.",
        count=tasks.untold,
    )
    hint = say("Arrows of category async_task_queue from each enqueue to its dequeue tell it.")
    return (Finding("queue_untold", message, hint, tasks.untold, affects=DEVICE),)


def passing_times(ops: Ops, tasks: Tasks) -> Ops:
    """The operators at the times at which the queue had passed their starts and ends.

    That is when all tasks enqueued before were done, and no earlier than on the host. What passes
    together stays in its order, a nanosecond apart.
    """
    if not len(tasks):
        return ops
    done = np.maximum.accumulate(tasks.end_ns)
    host, at = np.unique(np.concatenate((ops.start_ns, ops.end_ns)), return_inverse=True)
    before = np.searchsorted(tasks.enqueued_ns, host, side="right") - 1
    arrived = np.maximum(host, np.where(before >= 0, done[before], host))
    turn = np.arange(len(host))
    arrived = (np.maximum.accumulate(arrived - turn) + turn)[at.reshape(-1)]
    return dataclasses.replace(ops, start_ns=arrived[: len(ops)], end_ns=arrived[len(ops) :])
