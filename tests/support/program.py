"""A training program with exact times: a host that launches, a device that works in order.

Times are microseconds. ``Program`` writes the events as a profiler with device times would; the
host runs ahead of the device until it waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tb_privateuse1.advice.engine import Advice, AdviceRow, advise
from tb_privateuse1.advice.rules.rule import Rule
from tb_privateuse1.trace.model import Trace
from tests.support import chinese, make


class Program:
    """Runs on one host thread and one stream."""

    def __init__(self) -> None:
        self.now = 0.0
        self.device = 0.0
        self.events: list[make.Event] = []
        self.steps = 0
        self.launched = 0

    def trace(self, **keys: Any) -> Trace:
        """What was run so far."""
        return make.trace(*self.events, **keys)

    @contextmanager
    def step(self) -> Iterator[None]:
        """A training step."""
        start, self.steps = self.now, self.steps + 1
        yield
        self.events.append(make.step(self.steps, start, self.now))

    @contextmanager
    def range(self, name: str, **args: Any) -> Iterator[None]:
        """An annotation around what is run inside."""
        start = self.now
        yield
        self.events.append(make.annotation(name, start, self.now, **args))

    @contextmanager
    def frame(self, name: str, **args: Any) -> Iterator[None]:
        """A Python frame around what is run inside."""
        start = self.now
        yield
        self.events.append(make.frame(name, start, self.now, **args))

    @contextmanager
    def around(self, name: str, host: float = 2, **args: Any) -> Iterator[None]:
        """An operator around what is run inside."""
        start = self.now
        self.now += host
        yield
        self.now += host
        self.events.append(make.op(name, start, self.now, **args))

    def op(
        self, name: str, host: float = 10, kernel: float = 0, device: str = "gemm", **args: Any
    ) -> None:
        """An operator that launches a kernel of this length (none for 0) at its end."""
        start = self.now
        self.now += host
        if kernel:
            self.launch(device, kernel)
        self.events.append(make.op(name, start, self.now, **args))

    def launch(self, name: str, length: float, **args: Any) -> None:
        """A runtime call and the device activity that it starts."""
        self.launched += 1
        self.events.append(make.launch(self.now, self.now + 1, self.launched))
        begin = max(self.now + 1, self.device)
        self.device = begin + length
        self.events.append(make.kernel(name, begin, self.device, self.launched, **args))
        self.now += 1

    def copy(
        self, direction: str, length: float, host: float = 2, blocking: bool = True, **args: Any
    ) -> None:
        """A copy ``HtoD`` or ``DtoH``; a blocking one returns when it is done."""
        self.launched += 1
        start, self.now = self.now, self.now + host
        begin = max(self.now, self.device)
        self.device = begin + length
        name = f"Memcpy {direction} (Pageable -> Device)"
        self.events.append(
            make.kernel(name, begin, self.device, self.launched, category="gpu_memcpy", **args)
        )
        if blocking:
            self.now = max(self.now, self.device)
        called = {"correlation": self.launched}
        self.events.append(
            make.span("cuda_runtime", "cudaMemcpyAsync", start, self.now + 1, **called)
        )
        self.now += 1

    def wait(self, name: str = "cudaStreamSynchronize") -> None:
        """The host waits for the device."""
        start = self.now
        self.now = max(self.now, self.device) + 1
        self.launched += 1
        self.events.append(
            make.span("cuda_runtime", name, start, self.now, correlation=self.launched)
        )

    def rest(self, us: float) -> None:
        """The host does what no profiler sees."""
        self.now += us


def found(rule: Rule, trace: Trace) -> list[AdviceRow]:
    """What one rule alone finds; a rule that fails is a failed test."""
    advice = advise(trace, rules=(rule,))
    assert [one.answer for one in advice.asked] != ["failed"]
    check(advice)
    for row in advice.rows:
        texts = row.title, row.explanation, row.how, row.fix, row.reference, *row.lacks
        chinese.check_rule(rule.name, (*texts, *(example.note for example in row.evidence)))
    return list(advice.rows)


def check(advice: Advice) -> None:
    """What must hold of all advice."""
    assert sum(row.behind_ns or 0 for row in advice.rows) <= advice.judged_ns
    assert all((row.saving_ns or 0) <= advice.judged_ns for row in advice.rows)
    for row in advice.rows:
        assert all((row.title, row.explanation, row.fix, row.how, row.reference))
        assert (row.saving_ns is None) == (row.saving_share is None)


def device_bound(steps: int = 3) -> Program:
    """A program that keeps the device busy: nothing to mend."""
    program = Program()
    for _ in range(steps):
        with program.step():
            for _ in range(60):
                program.op("aten::mm", 10, kernel=100)
            program.now = max(program.now, program.device - 500)
    return program


def kernel_inside(around: str, us: float, kernel: str = "elementwise_kernel") -> Program:
    """Build four steps with a product and a kernel inside ``aten::copy_`` of an operator."""
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=500)
            with run.around(around), run.around("aten::copy_"):
                run.launch(kernel, us)
            run.wait()
    return run
