"""Predictions against the truth: a machine runs a program, and then really the changed one.

The machine (``tests/support/simulate.py``) has its own clock: what it says does not depend on the
load of the computer that the test runs on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.whatif import WhatIf, whatif
from tests.support import make
from tests.support.program import Program
from tests.support.results import result
from tests.support.simulate import Machine, Op, simulate, step

US = 1000
STEPS = 4

READ = Op("aten::_local_scalar_dense", 3 * US, 500, 2 * US, blocking=True)


def layer(kernel_us: int, host_us: int) -> Op:
    """A linear layer: an operator around the one that launches."""
    inner = Op("aten::addmm", host_us * US // 2, US, kernel_us * US)
    return Op("aten::linear", host_us * US // 4, host_us * US // 4, children=(inner,))


def program(kernel_us: int, host_us: int, *, wait: bool) -> list[Op]:
    """Build a step of ten layers, ten short kernels, and a value that is read at its end."""
    ops: list[Op] = []
    for _ in range(10):
        ops += [layer(kernel_us, host_us), Op("aten::relu", 5 * US, US, 4 * US)]
    return [*ops, READ] if wait else ops


PROGRAMS = {
    "device": program(60, 12, wait=True),
    "host": program(4, 40, wait=True),
    "both": program(25, 20, wait=True),
    "ahead": program(60, 12, wait=False),
}


@dataclasses.dataclass
class Profiled(Machine):
    """The machine under a device profiler: it keeps when it launched what."""

    launched: list[int] = dataclasses.field(default_factory=list)

    def _launch(self, kernel: int) -> tuple[int, int]:
        self.launched.append(self.now)
        return super()._launch(kernel)


def run(ops: Sequence[Op]) -> Trace:
    """Return the events of a device profiler for some steps."""
    machine = Profiled()
    for i in range(STEPS):
        machine.run(step(i, *ops))
    names = [event["name"] for event in machine.events]
    events = list(machine.events)
    for at, (number, (begin, end)) in zip(machine.launched, machine.kernels.items(), strict=True):
        name = names[number - 1]
        category = "gpu_memcpy" if name == READ.name else "kernel"
        kernel = make.kernel(name, begin / 1e3, end / 1e3, number, category=category)
        events += [make.launch(at / 1e3, at / 1e3, number), kernel]
    return make.trace(*events)


def changed(ops: Sequence[Op], change: Callable[[Op], Op]) -> list[Op]:
    """Return the program with every operator changed, the inner ones first."""
    return [
        change(dataclasses.replace(op, children=tuple(changed(op.children, change)))) for op in ops
    ]


def kernels_of(name: str, factor: float) -> Callable[[Op], Op]:
    def change(op: Op) -> Op:
        scaled = round(op.kernel * factor)
        return dataclasses.replace(op, kernel=scaled) if op.name == name else op

    return change


def unwaited(op: Op) -> Op:
    return dataclasses.replace(op, blocking=False)


def step_ns(trace: Trace) -> float:
    return float(np.median(trace.steps.end_ns - trace.steps.start_ns))


def inferred(ops: Sequence[Op]) -> Trace:
    """Return the same from host events and elapsed times."""
    return simulate([step(i, *ops) for i in range(STEPS)]).trace


@pytest.mark.parametrize("record", [run, inferred], ids=["measured", "inferred"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("kernel:aten::addmm=0.5", kernels_of("aten::addmm", 0.5)),
        ("kernel:aten::addmm=0.1", kernels_of("aten::addmm", 0.1)),
        ("kernel:aten::addmm=2", kernels_of("aten::addmm", 2)),
        ("kernel:aten::relu=0.25", kernels_of("aten::relu", 0.25)),
    ],
    ids=["half", "tenth", "double", "other"],
)
def test_a_kernel_really_changed(
    name: str, text: str, change: Callable[[Op], Op], record: Callable[[Sequence[Op]], Trace]
) -> None:
    """The prediction matches a run with changed kernels."""
    ops = PROGRAMS[name]
    before, after = record(ops), run(changed(ops, change))
    found = result(whatif, before, changes=text, ranking=False)
    assert isinstance(found, WhatIf)
    truth = step_ns(after)
    # Within 2 % of the step as it then really is.
    assert abs(float(np.median([s.predicted_ns for s in found.steps])) - truth) <= 0.02 * truth


@pytest.mark.parametrize("record", [run, inferred], ids=["measured", "inferred"])
@pytest.mark.parametrize("name", ["device", "host", "both"])
def test_waits_really_taken_away(name: str, record: Callable[[Sequence[Op]], Trace]) -> None:
    """The prediction matches a run without waits."""
    ops = PROGRAMS[name]
    found = result(whatif, record(ops), changes="synchronisation=0", ranking=False)
    truth = step_ns(run(changed(ops, unwaited)))
    assert np.median([s.predicted_ns for s in found.steps]) == pytest.approx(truth, rel=0.02)


def test_a_copy_that_waits_for_much_work_is_taken_away() -> None:
    """A copy submits when it begins, however long it then waits for earlier work."""

    def copying(*, blocking: bool) -> Trace:
        run = Program()
        for _ in range(STEPS):
            with run.step():
                for _ in range(10):
                    run.op("aten::mm", 10, kernel=100)
                run.copy("DtoH", 2, blocking=blocking)
                run.rest(300)
        return run.trace()

    found = result(whatif, copying(blocking=True), changes="synchronisation=0", ranking=False)
    truth = copying(blocking=False).steps
    assert found.predicted_ns * STEPS == pytest.approx(
        int((truth.end_ns - truth.start_ns).sum()), rel=0.02
    )


def test_what_really_gains_most_is_first() -> None:
    """On a device-bound program kernels are first, on a host-bound one operators."""
    for name, kind in (("device", "kernel"), ("host", "operator")):
        rows = result(whatif, run(PROGRAMS[name])).rows
        top = next(row for row in rows if row.kind in ("kernel", "operator"))
        by = {(row.kind, row.name): row.free_gain_ns for row in rows}
        kernel = by.get(("kernel", "aten::addmm"), 0)
        if kind == "kernel":
            assert kernel > 0.5 * step_ns(run(PROGRAMS[name]))
        else:
            assert top.kind == "operator"
            assert kernel < 0.1 * top.free_gain_ns
