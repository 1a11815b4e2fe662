"""A backend that hands its launches to a thread of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec import field

from tb_privateuse1.trace.model import EVENTS, Trace
from tb_privateuse1.trace.table import I64
from tests.support import make
from tests.support.simulate import LATENCY, Machine, Op, infer_from, step

US = 1_000
QUEUE = 9
SHAPES = {"Input Dims": [[64, 64]], "Input type": ["float"]}


class Queued(Machine):
    """Launches pass through a queue whose thread takes ``task`` ns for each; so do marks, at once.

    ``arrows``: whether the trace tells which task is which.
    """

    task: int = 20 * US
    arrows: bool = True
    free: int = 0
    number: int = 0
    told: list[dict[str, Any]] = field(default_factory=list)

    def _launch(self, kernel: int) -> tuple[int, int]:
        self.number += 1
        enqueued, begin = self.now, max(self.now + US, self.free)
        self.free = begin + self.task
        times = begin / 1e3, self.free / 1e3
        self.told += [
            make.span("enqueue", "Enqueue@aclnn", enqueued / 1e3, (enqueued + 400) / 1e3),
            make.span("dequeue", "Dequeue@aclnn", *times, thread=QUEUE),
        ]
        if self.arrows:
            arrow = {"cat": "async_task_queue", "name": "enqueue_to_dequeue", "pid": 1, "bp": "e"}
            self.told += [
                {**arrow, "ph": "s", "id": self.number, "tid": 1, "ts": enqueued / 1e3},
                {**arrow, "ph": "f", "id": self.number, "tid": QUEUE, "ts": begin / 1e3},
            ]
        start = max(self.free + self.latency, self.device + self.gap)
        self.device = start + kernel
        return start, self.device

    def _mark(self) -> int:
        self.device = max(max(self.now, self.free) + self.latency, self.device) + self.mark
        return self.device


def program(kernel: int) -> list[Op]:
    names = ("aten::add", "aten::mul", "aten::relu")
    work = [Op(name, 8 * US, 1_000, kernel + i * US) for i, name in enumerate(names)]
    view = Op("aten::view", 1_500, 500)
    wait = Op("synchronize", 10 * US, 10 * US, category="user_annotation", blocking=True)
    return [step(i, *([*work, view] * 20), wait) for i in range(4)]


def recorded(kernel: int, **settings: Any) -> tuple[Trace, I64, I64]:
    """The trace, and the kernels' true starts and ends, by operator."""
    machine = Queued(shapes=SHAPES, **settings)
    for op in program(kernel):
        machine.run(op)
    trace = infer_from([*machine.events, *machine.told], machine.elapsed, launch_latency_ns=LATENCY)
    truth = np.array([machine.kernels[i] for i in sorted(machine.kernels)]) - trace.base_ns
    return trace, truth[:, 0], truth[:, 1]


@pytest.mark.parametrize("kernel", [5 * US, 30 * US], ids=["waits", "behind"])
def test_kernels_start_when_the_queue_has_launched_them(kernel: int) -> None:
    """Not when their operators returned: by then the queue is milliseconds behind."""
    trace, start, end = recorded(kernel)
    kernels = trace.kernels
    assert len(kernels) == len(start) == 240
    error = np.abs(kernels.start_ns - start)
    late = start - trace.ops.end_ns[kernels.op]
    assert np.median(late) > 200 * US
    assert np.median(error) <= 5 * US
    assert (error <= kernels.start_bound_ns).all()
    wrong = np.abs(kernels.end_ns - kernels.start_ns - (end - start))
    assert (wrong <= kernels.duration_bound_ns).all()
    if kernel > 20 * US:
        assert (kernels.evidence == EVENTS).mean() > 0.9


def test_a_queue_that_keeps_up_changes_little() -> None:
    trace, start, _ = recorded(30 * US, task=2 * US)
    error = np.abs(trace.kernels.start_ns - start)
    assert np.median(error) <= 5 * US
    assert (error <= trace.kernels.start_bound_ns).all()


def test_the_launch_is_the_queues_and_the_operator_the_one_that_enqueued() -> None:
    trace, _, _ = recorded(30 * US)
    launches = trace.launches
    assert {trace.text(name) for name in launches.name} == {"Dequeue@aclnn"}
    assert (launches.op >= 0).all()
    assert {trace.text(n) for n in trace.ops.name[launches.op]} == {
        "aten::add",
        "aten::mul",
        "aten::relu",
    }
    assert (launches.start_ns > trace.ops.start_ns[launches.op]).all()
    assert not any(f.code == "unknown_categories" for f in trace.meta.findings)


def test_without_arrows_the_operators_are_not_guessed() -> None:
    trace, _, _ = recorded(30 * US, arrows=False)
    assert (trace.launches.op < 0).all()
    (finding,) = (f for f in trace.meta.findings if f.code == "queue_untold")
    assert finding.count == 240
    told, _, _ = recorded(30 * US)
    assert "queue_untold" not in {f.code for f in told.meta.findings}


def test_measured_kernels_are_the_operators_that_enqueued_them() -> None:
    """By their correlation with the queue's call; ids of other arrows mean nothing."""
    arrow = {"name": "enqueue_to_dequeue", "id": 1, "pid": 1}
    trace = make.trace(
        make.step(1, 100, 300),
        make.op("aten::mm", 110, 120, id=11),
        make.op("aten::add", 130, 140, id=12),
        make.span("enqueue", "Enqueue@aclnnMm", 112, 113),
        make.span("dequeue", "Dequeue@aclnnMm", 150, 160, thread=QUEUE, correlation=5),
        {**arrow, "cat": "async_task_queue", "ph": "s", "tid": 1, "ts": 112},
        {**arrow, "cat": "async_task_queue", "ph": "f", "tid": QUEUE, "ts": 150},
        {**arrow, "cat": "fwdbwd", "name": "fwdbwd", "ph": "s", "tid": 1, "ts": 130},
        {**arrow, "cat": "fwdbwd", "name": "fwdbwd", "ph": "f", "tid": 1, "ts": 131},
        make.kernel("MatMulV2", 170, 200, correlation=5),
    )
    (kernel,) = trace.kernels.op
    assert trace.text(trace.ops.name[kernel]) == "aten::mm"
    assert trace.launches.start_ns[trace.kernels.launch].tolist() == [50 * US]
