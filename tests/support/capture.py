"""What the tests of capture share: a small training run, and reading what it wrote."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, schedule

NAME = re.compile(r"^(.*?)(\.\d+)?\.pt\.trace\.json(?:\.gz)?$")
CPU, PRIVATEUSE1 = ProfilerActivity.CPU, ProfilerActivity.PrivateUse1


def train(make: Any, steps: int = 7, **options: Any) -> Any:
    """Two cycles of one recorded step each, on the CPU."""
    cycles = schedule(wait=1, warmup=1, active=1, repeat=2)
    with make(activities=[CPU], schedule=cycles, **options) as prof:
        for _ in range(steps):
            torch.ones(8).add(1)
            prof.step()
    return prof


def written(directory: Path) -> list[Path]:
    return sorted(directory.iterdir())


def read(path: Path) -> Any:
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.name.endswith(".gz") else data)
