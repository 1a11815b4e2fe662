"""What a thread does is not changed by threads that wait, nor by a skew of the clocks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.analysis.threads import clock_slack, roles
from tb_privateuse1.analysis.threads.roles import ROLES
from tb_privateuse1.trace.model import NONE, Trace
from tests.support import make
from tests.support.repeats import repeats

Events = list[make.Event]

NAMES = ("MmBackward", "autograd::engine::evaluate_function: MmBackward0", "aten::mm")


@st.composite
def programs(draw: st.DrawFn) -> Events:
    """Return a training loop: forward in thread 1, backward in thread 2, with times in µs."""
    host = st.integers(20, 60)
    name, with_steps = draw(st.sampled_from(NAMES)), draw(st.booleans())
    loading, batches = draw(st.integers(30, 400)), draw(st.integers(5, 7))
    forward, backward = (
        draw(st.lists(host, min_size=5, max_size=8)),
        draw(st.lists(host, min_size=5, max_size=8)),
    )
    events: Events = []
    now = device = number = 0.0

    def run(thread: int, name: str, us: float) -> None:
        nonlocal now, device, number
        number += 1
        events.append(make.op(name, now, now + us, thread=thread))
        events.append(make.launch(now + us - 6, now + us - 2, int(number), thread=thread))
        begin = max(device, now + us)
        device = begin + 30
        events.append(make.kernel("gemm", begin, device, int(number)))
        now += us

    for batch in range(batches):
        first = now
        now += loading
        for us in forward:
            run(1, "aten::mm", us)
            now += 10
        now += 40
        for us in backward:
            run(2, name, us)
            now += 2
        now += 50
        run(1, "aten::add_", 12)
        start, now = now, max(now, device) + 9
        wait = {"correlation": 10_000 + batch}
        events.append(make.span("cuda_runtime", "cudaStreamSynchronize", start, now, **wait))
        if with_steps:
            events.append(make.step(batch + 1, first, now))
    return events


def end_of(events: Events) -> float:
    return max(float(event["ts"] + event["dur"]) for event in events)


def monitor(end: float) -> Events:
    return [
        make.frame("threading.py(1000): _bootstrap", 0, end, thread=8),
        make.frame("tqdm/_monitor.py(60): run", 1, end - 1, thread=8),
        make.frame("threading.py(359): wait", 2, end - 2, thread=8),
    ]


def periodic(end: float) -> Events:
    waits = [make.frame("threading.py(359): wait", at, at + 95, thread=8)
             for at in range(1, int(end) - 100, 100)]  # fmt: skip
    return [make.frame("monitor.py(9): run", 0, end, thread=8), *waits]


def pool(end: float) -> Events:
    return [
        event
        for thread in range(20, 26)
        for event in (
            make.frame("concurrent/futures/thread.py(69): _worker", 0, end, thread=thread),
            make.frame("<built-in method get of _queue.SimpleQueue>", 1, end - 1, thread=thread),
        )
    ]


def watchdog(end: float) -> Events:
    return [
        make.span("cuda_runtime", "cudaEventQuery", at, at + 3, thread=9)
        for at in range(1, int(end) - 100, 70)
    ]


def described(made: Trace) -> tuple[dict[str, str], list[int]]:
    """Return the roles of threads that do more than wait, and the lengths of the turns."""
    found = roles.thread_roles(made)
    named = {
        made.text(made.threads.tid[row]): ROLES[role]
        for row, role in enumerate(found.role.tolist())
        if role not in (NONE, roles.WAITING)
    }
    each = roles.find_turns(made)
    return named, (each.return_ns - each.leave_ns).tolist()


@pytest.mark.long
@given(programs())
def test_roles_of_a_training_loop(events: Events) -> None:
    named, lengths = described(make.trace(*events))
    assert named == {"1": "main", "2": "autograd"}
    assert len(lengths) == sum(event["name"] == "cudaStreamSynchronize" for event in events)


@pytest.mark.long
@pytest.mark.parametrize("add", [monitor, periodic, pool, watchdog])
@settings(max_examples=repeats(25))
@given(events=programs())
def test_threads_that_wait_change_no_role(add: object, events: Events) -> None:
    assert callable(add)
    more = add(end_of(events))
    made = make.trace(*events, *more)
    assert described(made) == described(make.trace(*events))
    found = roles.thread_roles(made)
    waiting = {
        made.text(made.threads.tid[row]) for row in (found.role == roles.WAITING).nonzero()[0]
    }
    assert waiting == {str(event["tid"]) for event in more}
    assert not found.driving[found.role == roles.WAITING].any()


@pytest.mark.long
@given(programs(), st.integers(-5, 5))
def test_a_skew_of_the_clocks_changes_no_role(events: Events, skew: int) -> None:
    moved = [
        {**event, "ts": event["ts"] + skew} if event["cat"] == "kernel" else event
        for event in events
    ]
    made = make.trace(*moved)
    assert described(made) == described(make.trace(*events))
    assert clock_slack.clock_slack_ns(made) <= 5_000
