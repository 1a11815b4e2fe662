"""Roles of host threads, in traces of a few events (times in µs)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_privateuse1.analysis.threads import activity, roles
from tb_privateuse1.analysis.threads.hand_offs import turns_between
from tb_privateuse1.analysis.threads.roles import ROLES
from tb_privateuse1.trace.model import NONE, Trace
from tests.support import make
from tests.support.make import annotation, frame, kernel, launch, op, span, step, trace


def role_of(made: Trace) -> dict[str, str]:
    """Return the role of each thread with events, by its number in the file."""
    found = roles.thread_roles(made)
    return {
        made.text(made.threads.tid[row]): ROLES[role]
        for row, role in enumerate(found.role.tolist())
        if role != NONE
    }


def training(names: tuple[str, str] = ("aten::mm", "aten::mm"), steps: int = 3) -> list[make.Event]:
    """Return steps in which thread 1 runs forward and optimizer, and thread 2 the backward pass."""
    events: list[make.Event] = []
    for i in range(steps):
        at, number = 1000 * i, 100 * i
        for k, (thread, name, start) in enumerate(
            [(1, names[0], 200), (1, names[0], 260), (2, names[1], 350), (2, names[1], 410),
             (2, names[1], 470), (1, names[0], 560), (1, names[0], 700)]
        ):  # fmt: skip
            events += [
                op(name, at + start, at + start + 50, thread=thread),
                launch(at + start + 40, at + start + 45, number + k, thread=thread),
                kernel("gemm", at + start + 50, at + start + 60, number + k),
            ]
    return events


def test_a_trace_without_events_has_no_roles() -> None:
    found = roles.thread_roles(Trace())
    assert (found.main, len(found.role), len(roles.find_turns(Trace()))) == (
        NONE,
        0,
        0,
    )


@pytest.mark.parametrize("with_steps", [True, False])
def test_autograd_takes_turns_with_the_main_thread(with_steps: bool) -> None:
    """Neither names nor sequence numbers are necessary, and no steps."""
    marks = [step(i + 1, 1000 * i + 100, 1000 * i + 800) for i in range(3)] if with_steps else []
    made = trace(*training(), *marks)
    assert role_of(made) == {"1": "main", "2": "autograd"}
    found = roles.find_turns(made)
    columns = found.leave_ns, found.begin_ns, found.done_ns, found.return_ns
    base = 100 if with_steps else 200
    assert [int(column[0]) // 1000 + base for column in columns] == [310, 350, 520, 560]
    assert len(found) == 3


def test_turns_need_no_full_pause() -> None:
    """The main thread runs its own code behind the backward pass; that time stays its own."""
    made = trace(*training(), *(op("aten::item", 1000 * i + 900, 1000 * i + 950) for i in range(3)))
    late = trace(
        *training(steps=5),
        *(op("x", 1000 * i + 320, 1000 * i + 322) for i in range(5)),
    )
    assert len(roles.find_turns(made)) == 3
    found = roles.find_turns(late)
    assert (found.begin_ns - found.leave_ns).tolist() == [28_000] * 5


def test_a_wait_inside_an_operator_is_a_turn() -> None:
    """Old torch records ranges of the program as operators."""
    around = [op("## backward ##", 1000 * i + 330, 1000 * i + 550) for i in range(3)]
    made = trace(*training(), *around)
    assert role_of(made) == {"1": "main", "2": "autograd"}
    found = roles.find_turns(made)
    assert (found.begin_ns - found.leave_ns).tolist() == [19_999] * 3, "an edge takes 1 ns"


def test_autograd_of_two_devices() -> None:
    """Both threads work while the main one is away."""
    second = [
        event
        for i in range(5)
        for event in (
            op("aten::mm", 1000 * i + 355, 1000 * i + 515, thread=7),
            launch(1000 * i + 400, 1000 * i + 405, 700 + i, thread=7),
            kernel("gemm", 1000 * i + 410, 1000 * i + 420, 700 + i, device=1),
        )
    ]
    made = trace(*training(steps=5), *second)
    assert role_of(made) == {"1": "main", "2": "autograd", "7": "autograd"}
    assert len(roles.find_turns(made)) == 10


def test_work_in_a_long_pause_is_no_turn() -> None:
    """A thread that works once while the main thread sleeps does so by chance."""
    sleeping = [op("a", 0, 100), op("a", 5000, 5100)]
    made = trace(*sleeping, op("b", 2000, 2050, thread=2))
    assert (len(roles.find_turns(made)), role_of(made)["2"]) == (0, "other")


def test_a_monitor_waits() -> None:
    """One frame over the whole recording is no work."""
    monitor = [
        frame("threading.py(1000): _bootstrap", 0, 3000, thread=3),
        frame("tqdm/_monitor.py(60): run", 1, 2999, thread=3),
        frame("threading.py(359): wait", 2, 2998, thread=3),
    ]
    assert role_of(trace(*training(), *monitor)) == {
        "1": "main", "2": "autograd", "3": "waiting",
    }  # fmt: skip


def test_a_pool_waits() -> None:
    """Its threads ask for work again and again."""
    waits = [
        frame("<built-in method acquire of _thread.lock object>", 100 * i + 1, 100 * i + 99,
              thread=3)
        for i in range(30)
    ]  # fmt: skip
    pool = [frame("concurrent/futures/thread.py(69): _worker", 0, 3000, thread=3), *waits]
    assert role_of(trace(*training(), *pool))["3"] == "waiting"


def test_python_that_computes_does_not_wait() -> None:
    """A thread of the program that prepares data in short functions."""
    work = [
        frame(f"prepare.py({i % 7}): step", 100 * i + 1, 100 * i + 99, thread=3)
        for i in range(30)
    ]  # fmt: skip
    made = trace(*training(), frame("prepare.py(1): run", 0, 3000, thread=3), *work)
    assert role_of(made)["3"] == "other"


def test_a_watchdog_waits() -> None:
    """It asks whether communication is done."""
    queries = [
        span("cuda_runtime", "cudaEventQuery", 100 * i, 100 * i + 5, thread=4) for i in range(20)
    ]
    assert role_of(trace(*training(), *queries))["4"] == "waiting"


def test_a_task_queue_launches() -> None:
    """It works while the main thread does: these are no turns."""
    events: list[make.Event] = []
    for i in range(50):
        at = 30 * i
        events += [
            op("aten::add", at, at + 25),
            op("Enqueue@Add", at + 10, at + 15),
            op("Dequeue@Add", at + 17, at + 40, thread=2),
            launch(at + 20, at + 35, i, thread=2),
            kernel("add", at + 40, at + 50, i),
        ]
    made = trace(*events)
    assert role_of(made) == {"1": "main", "2": "launcher"}
    assert len(roles.find_turns(made)) == 0


def test_gloo_communicates() -> None:
    gloo = [annotation("gloo:all_reduce", 1000 * i, 1000 * i + 900, thread=5) for i in range(3)]
    assert role_of(trace(*training(), *gloo))["5"] == "communication"


def test_a_thread_that_only_copies_loads() -> None:
    copies = [
        event
        for i in range(3)
        for event in (
            span("cuda_runtime", "cudaMemcpyAsync", 1000 * i, 1000 * i + 300, thread=6,
                 correlation=5000 + i),
            kernel("Memcpy HtoD (Pinned -> Device)", 1000 * i + 20, 1000 * i + 80, 5000 + i,
                   category="gpu_memcpy"),
        )
    ]  # fmt: skip
    assert role_of(trace(*training(), *copies))["6"] == "loader"
    assert not roles.thread_roles(trace(*training(), *copies)).driving[-1]


def test_the_main_thread_has_the_steps() -> None:
    """Without steps the main thread has the most operators."""
    other = [op("b", 10 * i, 10 * i + 5, thread=2) for i in range(3)]
    with_steps = trace(step(1, 0, 50), op("a", 1, 9), *other)
    without = trace(op("a", 1, 9), *other)
    for made, name in ((with_steps, "a"), (without, "b")):
        row = [made.text(one) for one in made.ops.name].index(name)
        assert roles.thread_roles(made).main == made.ops.thread[row]


def test_a_thread_that_prepares_batches_loads() -> None:
    """The main thread waits for it, and it launches nothing; or it runs torch's data loader."""
    batches = [
        op("aten::stack", 1000 * i + 820, 1000 * i + 1180, thread=6) for i in range(3)
    ]  # fmt: skip
    assert role_of(trace(*training(steps=4), *batches))["6"] == "loader"
    pins = [
        frame("torch/utils/data/_utils/pin_memory.py(31): do_one_step", 0, 3000, thread=6),
        *(op("aten::pin_memory", 90 * i, 90 * i + 60, thread=6) for i in range(30)),
    ]
    assert role_of(trace(*training(), *pins))["6"] == "loader"


def test_of_many_threads_the_fullest_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others keep the role of their own events: a backward pass is autograd in any thread."""
    compared: list[int] = []

    def counted(thread: int, *others: Any) -> Any:
        compared.append(thread)
        return turns_between(thread, *others)

    monkeypatch.setattr(roles, "turns_between", counted)
    monkeypatch.setattr(roles, "_MOST_COMPARED", 20)
    events = [op("aten::mm", 10 * i, 10 * i + 5, thread=1 + i % 100) for i in range(400)]
    events.append(op("autograd::engine::evaluate_function: X", 5000, 5001, thread=900))
    found = role_of(trace(*events, *[step(i, 1000 * i, 1000 * i + 999) for i in range(4)]))
    assert len(compared) == 20
    assert found["900"] == "autograd"
    compared.clear()
    role_of(trace(*events))
    assert len(compared) <= 40


def test_each_row_is_read_once_for_all_threads() -> None:
    """What a thread does is its own rows, in the order of the trace."""
    made = trace(*(op("aten::mm", 10 * i, 10 * i + 5, thread=1 + i % 3) for i in range(9)))
    whole = [activity.Work(made).full(row) for row in range(len(made.threads))]
    assert sum(len(starts) for starts, _ in whole) == 9
    assert all((np.diff(starts) == 30_000).all() for starts, _ in whole)
