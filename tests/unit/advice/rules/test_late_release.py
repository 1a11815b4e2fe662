"""Results or gradients of the previous step that are still allocated at the peak."""

from __future__ import annotations

from typing import Any

from tb_privateuse1.advice.rules.late_release import RULE
from tests.support import execution_traces, make
from tests.support.execution_traces import tensor
from tests.support.program import found

GIB = 1 << 30
LOGITS, HIDDEN, WEIGHT = 4 * GIB, 2 * GIB, GIB
LENGTH = 1000


def shape(size: int) -> dict[str, Any]:
    """Return the arguments of an operator that reads this size."""
    return {"Input Dims": [[size // 4]], "Input type": ["float"]}


class Training:
    """Steps whose forward pass makes logits; memory at exact times.

    ``late``: the logits of a step are released behind those of the next one, else at the step's
    end. ``reset``: gradients are reset in the middle of the forward pass, at the step's start, or
    never. ``read``: an operator reads a tensor of the logits' size first, as a state that is
    carried on.
    """

    def __init__(self, *, late: bool = False, reset: str = "", read: bool = False) -> None:
        self.events: list[make.Event] = []
        self.total = 2 * GIB
        for number in range(5):
            self.step(number, late, reset, read)

    def add(self, at: float, size: int, address: int) -> None:
        self.total += size
        self.events.append(make.memory(at, size, self.total, Addr=address))

    def step(self, number: int, late: bool, reset: str, read: bool) -> None:
        at = LENGTH * number
        links = {"Sequence number": number}
        odd, even = number % 2, (number + 1) % 2
        self.events += [
            make.step(number, at, at + LENGTH - 10),
            make.op("aten::embedding", at + 100, at + 150, **shape(HIDDEN), **links),
            make.op("aten::linear", at + 200, at + 300, **shape(HIDDEN), **links),
            make.op(
                "autograd::engine::evaluate_function: AddmmBackward0", at + 500, at + 600, **links,
                **{"Fwd thread id": 1},
            ),
        ]  # fmt: skip
        if read:
            self.events.append(make.op("aten::tanh", at + 50, at + 60, **shape(LOGITS), **links))
        if reset == "start" and number:
            self.reset(at + 20)
        self.add(at + 210, LOGITS, 4096 * (1 + odd))
        if late and number:
            self.add(at + 310, -LOGITS, 4096 * (1 + even))
        if reset == "late" and number:
            self.reset(at + 400)
        if reset:
            self.add(at + 550, WEIGHT, 4096 * 9)
        if not late:
            self.add(at + 700, -LOGITS, 4096 * (1 + odd))

    def reset(self, at: float) -> None:
        self.events.append(make.annotation("Optimizer.zero_grad#SGD.zero_grad", at, at + 30))
        self.add(at + 10, -WEIGHT, 4096 * 9)


def found_in(training: Training, capacity: int = 12 * GIB) -> list[str]:
    devices = [{"id": 0, "name": "x", "totalGlobalMem": capacity}]
    rows = found(RULE, make.trace(*training.events, deviceProperties=devices))
    assert all(row.severity == "note" and row.saving_ns is None for row in rows)
    return [row.title for row in rows]


def test_logits_of_two_steps_are_there_at_once() -> None:
    (row,) = found(RULE, make.trace(*Training(late=True).events))
    assert (
        row.title == "4.000 GiB of the previous step's results are alive at the peak, 40.0 % of it"
    )
    assert "aten::linear" in row.explanation
    assert row.events == 4


def test_what_is_released_in_its_step_is_fine() -> None:
    assert found_in(Training()) == []


def test_a_state_that_the_next_step_may_read_is_fine() -> None:
    assert found_in(Training(late=True, read=True)) == []


def test_gradients_that_are_reset_behind_the_forward_pass() -> None:
    assert found_in(Training(reset="late")) == [
        "1.000 GiB of gradients are reset only behind the peak, 14.3 % of it"
    ]


def test_gradients_that_are_reset_before_it_are_fine() -> None:
    assert found_in(Training(reset="start")) == []


def test_without_want_of_memory_it_is_no_finding() -> None:
    assert len(found_in(Training(late=True), 16 * GIB)) == 1
    assert found_in(Training(late=True), 32 * GIB) == []


STATE, FIRST = 50, 100
"""Storages: of a tensor as large as the logits, and of the logits of step 0."""


def nodes_of(training: Training, reads: int | None, at: float = 50) -> list[execution_traces.Node]:
    """Return an execution trace; each step reads the logits of ``reads`` steps before, or STATE.

    Adds the operator that reads them, ``at`` from the step's start, and numbers all operators.
    """
    nodes = []
    for number in range(5):
        begin = LENGTH * number + at
        training.events.append(make.op("aten::tanh", begin, begin + 5, **shape(LOGITS)))
    operators = [event for event in training.events if event["cat"] == "cpu_op"]
    for record, event in enumerate(operators, 1):
        event["args"]["Record function id"] = record
        number = int(event["ts"] // LENGTH)
        takes, returns = [tensor(STATE + 1, HIDDEN // 4)], [tensor(STATE + 2, HIDDEN // 4)]
        if event["name"] == "aten::linear":
            returns = [tensor(FIRST + number, LOGITS // 4)]
        elif event["name"] == "aten::tanh":
            storage = STATE if reads is None else FIRST + number - reads
            takes = [tensor(storage, LOGITS // 4)]
        elif event["name"].startswith("autograd"):
            takes = returns = []
        nodes.append(execution_traces.node(record, event["name"], takes, returns))
    return nodes


def followed(training: Training, reads: int | None, at: float = 50) -> list[str]:
    nodes = nodes_of(training, reads, at)
    trace = execution_traces.trace_of(training.events, *nodes)
    assert len(trace.tensors)
    return [row.explanation for row in found(RULE, trace)]


def test_another_tensor_of_the_size_hides_nothing_that_an_execution_trace_follows() -> None:
    assert found_in(Training(late=True, read=True)) == []
    (explanation,) = followed(Training(late=True), None)
    assert "By the execution trace, no operator reads it" in explanation


def test_an_operator_that_reads_the_logits_themselves_needs_them() -> None:
    assert followed(Training(late=True), 1) == []
    # Also one behind the next logits: a comparison with those of the step before.
    assert followed(Training(late=True), 1, at=305) == []


def test_own_logits_that_a_step_reads_are_not_the_ones_of_the_step_before() -> None:
    (explanation,) = followed(Training(late=True), 0, at=305)
    assert "By the execution trace" in explanation
