"""How well taken operators reproduce the times of CPU recordings that are made right before.

    OMP_NUM_THREADS=1 python -m benchmarks.taken_here

Trains five small networks under the profiler and runs the ``--top`` longest operators of each again
in the same process: threads, machine and load are those of the recording. Prints the load, too.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from benchmarks.taken_operators import Compared, shares, timed
from tb_privateuse1 import inference, readers
from tb_privateuse1.export.taken import recorded_calls
from tb_privateuse1.export.taken.operator_call import NotRunnable

WARM_UP_STEPS = 3


def programs() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield names and steps of training."""
    torch.manual_seed(0)
    head = nn.Sequential(nn.LayerNorm(1024), nn.Linear(1024, 512))
    pooled = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    layers = (nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
    encoder = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, dropout=0.0)
    table = nn.Sequential(nn.Embedding(10000, 128), nn.Linear(128, 256), nn.Softmax(-1))
    images = torch.randn(16, 3, 64, 64)
    yield "mlp", _step(nn.Sequential(nn.Linear(512, 1024), nn.GELU(), head), torch.randn(256, 512))
    yield "conv", _step(nn.Sequential(*layers, nn.Conv2d(32, 64, 3), pooled), images)
    yield "encoder", _step(encoder, torch.randn(16, 64, 128))
    yield "table", _step(table, torch.randint(10000, (32, 64)))
    yield "lstm", _step(nn.LSTM(64, 128, batch_first=True), torch.randn(16, 20, 64))


def _step(model: nn.Module, inputs: torch.Tensor) -> Callable[[], Any]:
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)

    def step() -> None:
        optimizer.zero_grad()
        found = model(inputs)
        (found[0] if isinstance(found, tuple) else found).pow(2).mean().backward()
        optimizer.step()

    return step


def longest(step: Callable[[], Any], steps: int, top: int) -> list[dict[str, Any]]:
    """Record some steps and return their longest operators."""
    for _ in range(WARM_UP_STEPS):
        step()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        for _ in range(steps):
            step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "w.1.pt.trace.json")
        recorded.export_chrome_trace(str(path))
        trace = inference.build_trace(readers.read(str(path)), None)
    found = recorded_calls.most_time(trace, np.ones(len(trace.ops), np.bool_), top)
    return [msgspec.to_builtins(one) for one in found]


def main() -> None:
    """Print each operator and the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--steps", type=int, default=12, help="that are recorded")
    parser.add_argument("--only", help="the name of one program")
    options = parser.parse_args()
    found: list[Compared] = []
    for name, step in programs():
        if options.only not in (None, name):
            continue
        for case in longest(step, options.steps, options.top):
            try:
                one = timed(case)
            except (NotRunnable, RuntimeError) as error:
                print(f"{name} {case['operator']}: {str(error).splitlines()[0][:80]}")
                continue
            if one is None:
                continue
            found.append(one)
            print(f"{name:8}{case['operator']:36}" + "".join(f"{ratio:9.2f}" for ratio in one))
    for line in shares(found):
        print(line)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"{torch.get_num_threads()} threads on {os.cpu_count()} cores, load {load}")


if __name__ == "__main__":
    main()
