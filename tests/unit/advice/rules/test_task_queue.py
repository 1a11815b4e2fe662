"""Operators that wait in the backend's task queue while the device has no work."""

from __future__ import annotations

from tb_privateuse1.advice.rules.task_queue import RULE
from tb_privateuse1.trace.model import Trace
from tests.support import make
from tests.support.program import found

QUEUE, OPERATORS = 9, 80


def program(host: float, task: float, kernel: float) -> tuple[Trace, float]:
    """Return four steps of operators that enqueue tasks, and their length in us.

    The host takes ``host`` us for an operator, the queue's thread ``task`` to compile it and 2 to
    launch it, and the device ``kernel``. At the end of a step the host waits for the device.
    """
    events, now, free, device, number = [], 0.0, 0.0, 0.0, 0
    arrow = {"cat": "async_task_queue", "name": "enqueue_to_dequeue", "pid": 1, "bp": "e"}
    for step in range(4):
        start = now
        for _ in range(OPERATORS):
            number += 1
            events.append(make.op("aten::mul", now, now + host, id=number))
            events.append({**arrow, "ph": "s", "id": number, "tid": 1, "ts": now + host - 1})
            now += host
            begin = max(now, free)
            free = begin + task + 3
            linked = {"correlation": number, "External id": number}
            device = max(device, free) + kernel
            events += [
                {**arrow, "ph": "f", "id": number, "tid": QUEUE, "ts": begin},
                make.span("dequeue", "Dequeue@mul", begin, free, thread=QUEUE),
                call("compileOperator", begin, begin + task),
                call("launchKernel", begin + task, begin + task + 2, **linked),
                make.kernel("mul_kernel", device - kernel, device, number),
            ]
        end = max(now, device) + 1
        events.append(call("deviceSynchronize", now, end, thread=1))
        now = end
        events.append(make.step(step, start, now))
    return make.trace(*events), now


def call(name: str, start: float, end: float, thread: int = QUEUE, **args: int) -> make.Event:
    return make.span("privateuse1_runtime", name, start, end, thread=thread, **args)


def test_a_queue_whose_tasks_take_longest_is_found_with_its_gain() -> None:
    slow, length = program(host=10, task=30, kernel=5)
    (row,) = found(RULE, slow)
    assert row.saving_share is not None
    _, fast = program(host=10, task=0.5, kernel=5)
    gain = 1 - fast / length
    assert 0.8 * gain < row.saving_share < 1.2 * gain
    assert row.events > 300
    assert "90.9 % is in compileOperator" in row.explanation


def test_an_operator_that_does_not_wait_is_the_hosts_matter() -> None:
    assert found(RULE, program(host=30, task=10, kernel=5)[0]) == []


def test_a_queue_that_is_behind_a_busy_device_costs_nothing() -> None:
    assert found(RULE, program(host=10, task=30, kernel=60)[0]) == []


def test_calls_of_the_operators_own_thread_are_no_tasks() -> None:
    events = [make.step(1, 0, 100 * OPERATORS)]
    for i in range(OPERATORS):
        at = 100 * i
        events += [
            make.op("aten::mul", at, at + 20),
            make.launch(at + 10, at + 15, i),
            make.kernel("mul_kernel", at + 60, at + 70, i),
        ]
    assert found(RULE, make.trace(*events)) == []
