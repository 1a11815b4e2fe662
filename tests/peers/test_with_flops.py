"""FLOPs of a recording on the CPU equal those of torch's ``with_flops`` of the same run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import tb_privateuse1 as tbp

FORMULAS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::conv2d", "aten::add", "aten::mul")
"""Operators that torch has a formula for (``computeFlops`` in torch/csrc/profiler/util.cpp)."""


def program() -> None:
    """Run each of these operators, some by others, forward and backward."""
    images = torch.randn(2, 6, 16, 20, requires_grad=True)
    found = torch.nn.Conv2d(6, 8, 3, stride=2, padding=1, groups=2)(images)
    torch.nn.Linear(80, 12)(found.flatten(2)).sum().backward()
    square = torch.randn(24, 24)
    (square @ square + square) * square
    torch.bmm(torch.randn(3, 4, 5), torch.randn(3, 5, 6))


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """Return a recording, and the FLOPs of torch's own table by operator."""
    path = tmp_path_factory.mktemp("flops") / "w.1.pt.trace.json"
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=cpu, record_shapes=True, with_flops=True) as prof:
        program()
    prof.export_chrome_trace(str(path))
    return path, {row.key: int(row.flops) for row in prof.key_averages() if row.flops}


@pytest.mark.parametrize("name", FORMULAS)
def test_an_operator(name: str, recording: tuple[Path, dict[str, int]]) -> None:
    path, theirs = recording
    (row,) = (r for r in tbp.open(path).operators(window="all").rows if r.name == name)
    assert theirs[name] > 0
    assert row.total_flops == theirs[name]


def test_rates_and_no_roof(recording: tuple[Path, dict[str, int]]) -> None:
    rows = {r.name: r for r in tbp.open(recording[0]).operators(window="all").rows}
    product = rows["aten::mm"]
    assert product.flops is not None
    assert product.tflop_per_s is not None
    time_ns = product.flops / product.tflop_per_s / 1e3
    assert product.host_self_ns - 1 <= time_ns <= product.host_total_ns + 1
    assert product.roof_share is None
    assert rows["aten::linear"].flops is None
    assert rows["aten::linear"].total_flops == rows["aten::addmm"].total_flops
