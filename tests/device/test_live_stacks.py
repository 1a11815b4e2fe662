"""Collapsed stacks that torch exports: the flame graph has torch's sums."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from tb_privateuse1.api import open_log
from tb_privateuse1.cli import main


def test_stacks_of_torch_have_torchs_sums(tmp_path: Path) -> None:
    config = torch._C._profiler._ExperimentalConfig(verbose=True)
    with profile(
        activities=[ProfilerActivity.CPU], with_stack=True, experimental_config=config
    ) as recorded:
        x = torch.randn(64, 64)
        for _ in range(20):
            x = torch.tanh(x @ x)
    recorded.export_stacks(str(tmp_path / "stacks.txt"), "self_cpu_time_total")
    every = (tmp_path / "stacks.txt").read_text().splitlines()
    # The profiler's own frames are read of no recording.
    lines = [line for line in every if "profiler.py(" not in line]
    assert lines
    wanted: Counter[str] = Counter()
    for line in lines:
        stack, _, count = line.rpartition(" ")
        wanted[stack.rpartition(";")[2].strip()] += int(count) * 1_000
    assert main(["stacks", str(tmp_path / "stacks.txt"), "-o", str(tmp_path / "run")]) == 0
    found: Counter[str] = Counter()
    for row in open_log(tmp_path / "run").flame(window="all", by="host").rows:
        found[row.name] += row.self_ns
    assert {name: ns for name, ns in found.items() if ns} == {n: s for n, s in wanted.items() if s}
