"""A real training loop on the CPU, with faults planted or fixed; and torch's own verdict on it.

``python -m tests.support.live_training OUT bad|good`` writes a trace and
prints as JSON what torch's pattern matcher, which needs the live profiler, finds in the same run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.support import warm_python

STEPS, LAYERS, ROWS, WIDTH = 4, 60, 32, 192


def record(out: Path, kind: str) -> dict[str, int]:
    """Train in a process of its own; returns how many events torch's patterns match."""
    root = Path(__file__).parents[2]
    command = ["-m", "tests.support.live_training", out, kind]
    done = warm_python.run(warm_python.TORCH, command, cwd=root, timeout=180)
    assert done.returncode == 0, done.stderr
    matched: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return matched


def train(out: str, *, bad: bool) -> dict[str, int]:
    """The loop. The faults: gradients zeroed, one parameter at a time, no workers, indexing."""
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule

    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False, fused=not bad)
    loader: Any = torch.utils.data.DataLoader(samples(), batch_size=ROWS)
    batches = loader if bad else list(loader)
    timing = schedule(wait=0, warmup=1, active=STEPS, repeat=1)
    options = {"record_shapes": True, "with_stack": True, "profile_memory": True}
    with profile(activities=[ProfilerActivity.CPU], schedule=timing, **options) as profiler:
        for inputs, targets in batches:
            weights = torch.zeros(ROWS)
            if bad:
                for row in [*range(ROWS)] * 4:  # of little else, so that load cannot hide it
                    weights[row] = inputs[row].sum()
            else:
                weights = inputs.sum(dim=1)
            loss = ((model(inputs) - targets).sum(dim=1) * weights).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=not bad)
            profiler.step()
    profiler.export_chrome_trace(out)
    return matches(profiler)


def samples() -> Any:
    """A data set that takes some work for each sample, as decoding does."""
    import torch

    class Samples(torch.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return ROWS * (STEPS + 1)

        def __getitem__(self, index: int) -> Any:
            return torch.rand(64, WIDTH).exp().sum(dim=0) / 64, torch.rand(WIDTH)

    return Samples()


def matches(profiler: Any) -> dict[str, int]:
    """How many events each of torch's patterns matches."""
    from torch.profiler import _pattern_matcher as patterns

    names = (
        "GradNotSetToNone",
        "OptimizerSingleTensor",
        "ForLoopIndexing",
        "SynchronizedDataLoader",
    )
    return {
        name: len(getattr(patterns, f"{name}Pattern")(profiler).matched_events()) for name in names
    }


if __name__ == "__main__":
    print(json.dumps(train(sys.argv[1], bad=sys.argv[2] == "bad")))
