"""Collapsed stacks that torch exports: the flame graph has torch's sums."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from tb_privateuse1.api import open_log
from tb_privateuse1.cli import main
from tb_privateuse1.export import collapsed


def test_stacks_of_torch_have_torchs_sums(tmp_path: Path) -> None:
    config = torch._C._profiler._ExperimentalConfig(verbose=True)
    with profile(
        activities=[ProfilerActivity.CPU], with_stack=True, experimental_config=config
    ) as recorded:
        x = torch.randn(64, 64)
        for _ in range(20):
            x = torch.tanh(x @ x)
    recorded.export_stacks(str(tmp_path / "stacks.txt"), "self_cpu_time_total")
    wanted: Counter[str] = Counter()
    for line in (tmp_path / "stacks.txt").read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        wanted[stack] += int(count) * 1_000
    assert wanted
    assert main(["stacks", str(tmp_path / "stacks.txt"), "-o", str(tmp_path / "run")]) == 0
    written = b"".join(collapsed.write(open_log(tmp_path / "run").trace())).decode()
    pairs = (line.rpartition(" ") for line in written.splitlines())
    assert {stack: int(ns) for stack, _, ns in pairs} == {
        one: ns for one, ns in wanted.items() if ns
    }
