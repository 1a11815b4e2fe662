"""Events of a graph: its capture, and its replays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.make import Event, annotation, frame, kernel, op, span


def call(name: str, at: float, correlation: int = -1) -> Event:
    """A call of the runtime."""
    return span("cuda_runtime", name, at, at + 1, correlation=correlation)


def captured(
    start: float,
    *,
    named: bool = True,
    ops: tuple[str, ...] = ("mm", "add"),
    inputs: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Event]:
    """The capture of a graph with a kernel for each operator, in a module of the model.

    ``inputs`` has the recorded inputs of operators by their names.
    """
    end = start + 10 * len(ops)
    events = [
        annotation("capture_32", start - 5, end + 5),
        frame("runner.py(3): capture", start - 4, end + 4),
        call("cudaStreamBeginCapture", start - 2),
        frame("nn.Module: Net_0", start, end),
        call("cudaStreamEndCapture", end + 1),
    ]
    for i, name in enumerate(ops):
        at = start + 10 * i
        launched = call("cudaLaunchKernel", at + 3)
        if named:
            launched["args"]["kernel"] = f"{name}_kernel"
        recorded = (inputs or {}).get(name, {})
        events += [op(f"aten::{name}", at + 1, at + 8, **recorded), launched]
    return events


def replay(start: float, correlation: int, *names: str, streams: int = 1) -> list[Event]:
    """A launch of the graph with its kernels."""
    launched = call("cudaGraphLaunch", start, correlation)
    around = frame("serve.py(9): step", start - 1, start + 2)
    return [
        around,
        launched,
        *(
            kernel(name, start + 10 + i, start + 11 + i, correlation, stream=7 + i % streams)
            for i, name in enumerate(names)
        ),
    ]
