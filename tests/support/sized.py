"""A program whose operators record shapes, on a device of known rates.

The device moves 1 TB/s and multiplies 100 TFLOP/s; a kernel takes 2 us at least. So the best rate
of a recording is known, and so is the time of one pass over memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tb_privateuse1.analysis.work.arguments import Arguments, parse_arguments
from tb_privateuse1.analysis.work.registry import work_of
from tb_privateuse1.trace.model import Trace
from tests.support.program import Program

BF16, FP32, FP16, FP64 = "c10::BFloat16", "float", "c10::Half", "double"
Tensor = tuple[tuple[int, ...], str]
Input = Tensor | list[Tensor] | str
"""A tensor, a list of tensors, or the text of a value."""

BYTES_PER_US, FLOPS_PER_US, SHORTEST_US = 1e6, 1e8, 2.0


def recorded(*inputs: Input) -> dict[str, Any]:
    """The arguments of an event that describe these inputs."""
    dims: list[Any] = []
    types, values = [], []
    for one in inputs:
        if isinstance(one, str):
            dims.append([])
            types.append("ScalarList" if one.startswith("[") else "Scalar")
        elif isinstance(one, list):
            dims.append([list(shape) for shape, _ in one])
            types.append("TensorList")
        else:
            dims.append(list(one[0]))
            types.append(one[1])
        values.append(one if isinstance(one, str) else "")
    return {"Input Dims": dims, "Input type": types, "Concrete Inputs": values}


def unshaped(run: Program) -> Trace:
    """The trace of a program that was recorded without shapes."""
    for event in run.events:
        for key in recorded():
            event.get("args", {}).pop(key, None)
    return run.trace()


class SizedProgram(Program):
    """Runs operators whose kernels take as long as their work needs."""

    def run(self, name: str, *inputs: Input, slow: float = 1.0, host: float = 3.0) -> None:
        """Launch the kernel of an operator; ``slow`` times as long as the device could."""
        told = recorded(*inputs)
        # Whole us: fractions would overlap by rounding, and overlapping kernels run side by side.
        self.op(name, host, kernel=round(slow * kernel_us(name, told)), device=name, **told)

    def product(self, m: int, k: int, n: int, dtype: str = BF16, slow: float = 1.0) -> None:
        """A product of two matrices."""
        self.run("aten::mm", ((m, k), dtype), ((k, n), dtype), slow=slow)


def kernel_us(name: str, told: dict[str, Any]) -> float:
    """The time that the device needs for the work of a call."""
    call: Arguments = parse_arguments(
        name,
        json.dumps(told["Input Dims"]),
        json.dumps(told["Input type"]),
        concrete=json.dumps(told["Concrete Inputs"]),
    )
    work = work_of(call)
    if work is None:
        return SHORTEST_US
    moved = (work.read_bytes or 0) + (work.written_bytes or 0)
    computed = (work.flops or 0) / FLOPS_PER_US if work.matrix else 0.0
    return max(moved / BYTES_PER_US, computed, SHORTEST_US)


def full(*shape: int, dtype: str = BF16) -> Tensor:
    """A tensor as an input."""
    return shape, dtype


def matrix(*shape: int) -> Input:
    """Return a float32 tensor of a shape."""
    return full(*shape, dtype=FP32)


def op(
    run: SizedProgram, name: str, *inputs: Input, us: float = 100, strides: object = None
) -> None:
    """Run an operator of ATen with a kernel of some microseconds."""
    given = recorded(*inputs)
    if strides is not None:
        given["Input Strides"] = strides
    run.op(f"aten::{name}", 5, kernel=us, **given)


def steps(body: Callable[[SizedProgram], None]) -> SizedProgram:
    """Return three steps of a body, each behind a product that shows the device's rate."""
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            run.product(4096, 1024, 1024)
            body(run)
            run.wait()
    return run
