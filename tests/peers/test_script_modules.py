"""Modules of a live TorchScript program that was recorded with ``with_modules``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import nn

import tb_privateuse1 as tbp

OF_PYTHON = re.compile(r"^RecursiveScriptModule(_\d+)?( / |$)")


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.lin(x))


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Inner(), Inner()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x)) + x


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("stacks", [False, True])
def test_the_tree_is_that_of_the_program(stacks: bool, tmp_path: Path) -> None:
    module = torch.jit.script(Outer())
    x = torch.randn(3, 4, requires_grad=True)
    for _ in range(3):  # the executor profiles first, and compiles then
        module(x).sum().backward()
    path = tmp_path / "w.1.pt.trace.json"
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(
        activities=cpu, with_modules=True, with_stack=stacks, record_shapes=True
    ) as prof:
        for _ in range(4):
            module(x).sum().backward()
    prof.export_chrome_trace(str(path))
    log = tbp.open(path)
    # Python calls the outermost one by another name, of which there is the class and an instance.
    rows = {OF_PYTHON.sub("", r.path): r for r in log.modules(window="all").rows}
    assert (rows.pop("", None) is not None) == stacks
    inner = [f"Outer / {name}(Inner)" for name in ("first", "second")]
    linear = [f"{inner[0]} / first.lin(Linear)", f"{inner[1]} / second.lin(Linear)"]
    assert {path: row.calls for path, row in rows.items()} == dict.fromkeys(
        ["Outer", *inner, *linear], 4
    )
    assert {rows[path].flops for path in linear} == {4 * 2 * 3 * 4 * 4}
    products = [r for r in log.operators(group="module").rows if r.name == "aten::linear"]
    assert [(r.module, r.calls) for r in products] == [("Linear", 8)]
