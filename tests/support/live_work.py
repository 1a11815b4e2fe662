"""Programs that torch runs and records on the CPU, and torch's own count of their operations."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from tb_privateuse1.analysis.work import arguments, registry
from tb_privateuse1.analysis.work.call_work import Work
from tb_privateuse1.trace.model import Trace
from tests.support.shared_traces import read

Program = Callable[[], Any]


def record(program: Program) -> Trace:
    """Return the trace of a program on the CPU, with the inputs of its operators."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        program()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "live.1.pt.trace.json"
        profiler.export_chrome_trace(str(path))
        return read(path)


def counted_flops(program: Program) -> int:
    """Return the operations of a program by ``torch.utils.flop_counter``."""
    with FlopCounterMode(display=False) as counter:
        program()
    return int(counter.get_total_flops())


def call_work(trace: Trace, name: str) -> Work | None:
    """Return the work of the first call of an operator in a trace."""
    ops = trace.ops
    row = next(i for i in range(len(ops)) if trace.text(ops.name[i]) == name)
    columns = (ops.name, ops.shapes, ops.dtypes, ops.strides, ops.concrete)
    texts = (trace.text(column[row]) for column in columns)
    return registry.work_of(arguments.parse_arguments(*texts))


def tensor_bytes(value: Any) -> int:
    """Return the bytes of all tensors in arguments or results, expanded elements once."""
    if isinstance(value, torch.Tensor):
        if not value.numel():
            return 0
        steps = zip(value.shape, value.stride(), strict=True)
        stored = min(value.numel(), 1 + sum((size - 1) * step for size, step in steps))
        return stored * value.element_size()
    if isinstance(value, (list, tuple)):
        return sum(tensor_bytes(one) for one in value)
    return 0
