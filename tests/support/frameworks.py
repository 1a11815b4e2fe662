"""Recordings of real frameworks on the reference device, as our reader sees them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import tb_privateuse1
from tb_privateuse1 import inference
from tb_privateuse1.capture import sidecar_path
from tb_privateuse1.readers import chrome, sidecar
from tb_privateuse1.trace.model import Trace

NET = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        linear = torch.nn.Linear
        self.layers = torch.nn.Sequential(linear(64, 64), torch.nn.Tanh(), linear(64, 8))
    def forward(self, x=None):
        return {"loss": self.layers(x).pow(2).mean()}

class Data(torch.utils.data.Dataset):
    def __init__(self, rows=96):
        self.rows = rows
    def __len__(self):
        return self.rows
    def __getitem__(self, row):
        return {"x": torch.full((64,), row / self.rows)}
"""
"""A model, and a set of 96 rows for it."""


def needs(package: str, by: str = "the extra [frameworks] brings it") -> pytest.MarkDecorator:
    """Skip where a framework is not installed."""
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed: {by}")


def traces(folder: Path) -> list[Path]:
    """Return the files of all traces below a folder, in order of their names."""
    files = sorted(path for path in folder.rglob("*.json*") if "kernel_event" not in path.name)
    assert files
    return files


def timeline(path: Path) -> Trace:
    """Return a trace whose sidecar is beside it and gives it a device timeline."""
    assert sidecar_path(path).exists()
    trace = inference.build_trace(
        chrome.read(str(path)), sidecar.read_sidecar(str(sidecar_path(path)))
    )
    assert trace.meta.timeline == "inferred", [finding.message for finding in trace.meta.findings]
    assert len(trace.kernels) > 0
    return trace


def check_pages(folder: Path) -> None:
    """Check that the pages of a recording have device times."""
    log = tb_privateuse1.open(folder)
    overview = log.overview()
    assert overview.totals.busy_ns
    assert all(step.kernel_ns for step in overview.steps)
    assert log.kernels().rows


def steps(trace: Trace) -> list[str]:
    """Return the names of the steps, in order."""
    return [trace.text(name) for name in trace.steps.name]


def inside(trace: Trace, around: str) -> list[str]:
    """Return the names of what is directly inside of an annotation."""
    (row,) = [i for i, name in enumerate(trace.ops.name) if trace.text(name) == around]
    return [
        trace.text(n) for n, up in zip(trace.ops.name, trace.ops.parent, strict=True) if up == row
    ]


def calls(trace: Trace, name: str, step: int) -> int:
    """Return how often an operator begins within a step of the host."""
    start, end = trace.steps.host_start_ns[step], trace.steps.host_end_ns[step]
    at = [
        ns
        for number, ns in zip(trace.ops.name, trace.ops.start_ns, strict=True)
        if trace.text(number) == name
    ]
    return sum(start <= ns < end for ns in at)
