"""A training on the CPU under torch's profiler, and what torch itself says of the recording.

``python -m tests.support.live_figures OUT`` writes a trace and a memory timeline beside it, and
prints torch's figures as JSON. It is a process of its own: the frames of a test's runner are in no
stack, and torch cannot read each of their names.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.support import warm_python

CATEGORIES = (
    "Parameter", "Optimizer state", "Input", "Temporary", "Activation", "Gradient",
    "Autograd detail", "Unknown",
)  # fmt: skip
"""In the order of torch's sums (``_CATEGORY_TO_INDEX``)."""
ADDED: dict[str, Any] = {
    "note": "learning rate 3e-4",
    "model": {"layers": [2, 3]},
    "batch": 32,
}
"""What the program adds to the recording's metadata, in each of the three ways."""

ATTEMPTS = 5
"""Torch now and then cannot read the name of an event of its own."""


def record(out: Path) -> dict[str, Any]:
    """Return torch's figures of a recording that is written to ``out``."""
    root = Path(__file__).parents[2]
    command: list[str | Path] = ["-m", "tests.support.live_figures", out]
    for _ in range(ATTEMPTS):
        done = warm_python.run(warm_python.TORCH, command, cwd=root, timeout=180)
        if "UnicodeDecodeError" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main(out: str) -> dict[str, Any]:
    """Record, write the files and return the figures."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    warnings.simplefilter("ignore", FutureWarning)  # of export_memory_timeline
    profiler = profile(
        activities=[ProfilerActivity.CPU],
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
        experimental_config=torch._C._profiler._ExperimentalConfig(verbose=True),
    )
    profiler.preset_metadata_json("batch", json.dumps(ADDED["batch"]))
    with profiler:
        profiler.add_metadata("note", ADDED["note"])
        profiler.add_metadata_json("model", json.dumps(ADDED["model"]))
        train()
    profiler.export_chrome_trace(out)
    profiler.export_memory_timeline(out.replace(".pt.trace.json", ".raw.json.gz"), device="cpu")
    return figures_of(profiler)


def train() -> None:
    """Train two steps, and multiply twice in a line."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        model(torch.randn(8, 16)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    square = torch.randn(24, 24)
    square @ (square @ square)


def figures_of(profiler: Any) -> dict[str, Any]:
    """Return operators by start, sums by name, memory by category, and what is run again."""
    from torch.profiler._memory_profiler import MemoryProfileTimeline

    events = [event for event in profiler.events() if event.activity_type == "cpu_op"]
    names = {event.name for event in events}
    averages = [row for row in profiler.key_averages() if row.key in names]
    events.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    _, sums = MemoryProfileTimeline(profiler._memory_profile())._coalesce_timeline("cpu")
    return {
        "operators": [
            [event.name, ";".join(event.stack), round(event.self_cpu_time_total * 1e3)]
            for event in events
        ],
        "memory": {row.key: [row.self_cpu_memory_usage, row.cpu_memory_usage] for row in averages},
        "categories": dict(zip(CATEGORIES, list(zip(*sums, strict=True))[1:], strict=True)),
        **_run_again(profiler),
    }


def _run_again(profiler: Any) -> dict[str, Any]:
    """Return what torch's ``should_benchmark`` measures again: shapes and times of products."""
    import torch
    from torch.profiler import _pattern_matcher as patterns

    class Products(patterns.NamePattern):
        """Torch has ``benchmark`` for devices alone: this one takes half of the time as given."""

        def match(self, event: Any) -> bool:
            """Look at operators alone: torch cannot read the name of each built-in function."""
            operator = event.tag == torch._C._profiler._EventType.TorchOp
            return operator and super().match(event)

        def benchmark(self, events: list[Any]) -> dict[Any, float]:
            return {patterns.input_shapes(event): 0.5 for event in events}

    pattern = Products(profiler, "^aten::mm$", should_benchmark=True)
    matched = pattern.matched_events()
    return {
        "products": [[patterns.input_shapes(one), one.duration_time_ns] for one in matched],
        "summary": pattern.summary(matched),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
