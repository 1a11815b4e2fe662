"""Purpose of memory against torch's memory profiler, on a real training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from tb_privateuse1.analysis.memory import allocations, categories
from tb_privateuse1.analysis.steps import training_phases
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.store import Store

TORCHS = {
    "PARAMETER": "parameters", "OPTIMIZER_STATE": "optimizer_state", "GRADIENT": "gradients",
    "ACTIVATION": "activations", "INPUT": "inputs", "TEMPORARY": "temporaries",
    "AUTOGRAD_DETAIL": "temporaries",
}  # fmt: skip


class Images(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 1000

    def __getitem__(self, i: int) -> Any:
        return torch.full((16,), float(i)), i % 4


@pytest.mark.long
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_against_torchs_memory_profiler(optimizer: str, tmp_path: Path) -> None:
    """By bytes, over 99 % of the categories in torch's profiler are found in the saved trace.

    Left out: samples that the loader merges into a batch, and what the optimizer computes with.
    torch calls those inputs, and activations or parameters, as they derive from such.
    """
    batches = iter(torch.utils.data.DataLoader(Images(), 64))
    activities = [ProfilerActivity.CPU]
    with profile(
        activities=activities, profile_memory=True, record_shapes=True, with_stack=True
    ) as prof:
        model = torch.nn.Sequential(
            torch.nn.Linear(16, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.Tanh(),
            torch.nn.Linear(256, 4),
        )  # fmt: skip
        options = {"momentum": 0.9} if optimizer == "SGD" else {}
        stepper = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01, **options)
        for _ in range(3):
            x, y = next(batches)
            stepper.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            stepper.step()
            prof.step()
    prof.export_chrome_trace(str(tmp_path / "cpu.1.pt.trace.json"))
    agree: Counter[bool] = Counter()
    for category, name, around, size in joined(prof, tmp_path):
        merged = category == "INPUT" and around == training_phases.LOADING and name == "temporaries"
        computed = around == training_phases.STEPPING and name == "temporaries"
        if not merged and not computed:
            agree[TORCHS[category] == name] += size
    assert agree.total() > 2_000_000
    assert agree[True] / agree.total() > 0.99


def joined(prof: Any, folder: Path) -> Iterator[tuple[str, str, int, int]]:
    """Yield blocks that torch categorizes: torch's word, ours, the range around, bytes."""
    found = Store(jobs=0).trace(catalog.scan(str(folder), READERS).find(None))
    events = found.memory
    level, blocks = allocations.memory_level(events), allocations.pair_blocks(events)
    of = categories.categorize(found, events, level, blocks).of
    made = np.flatnonzero(blocks.allocation >= 0)
    rows = blocks.allocation[made]
    near = training_phases.phases_around(
        found, events.op[rows], events.thread[rows], events.ts_ns[rows]
    )
    around = near.kind.tolist()
    times = (events.ts_ns[rows] + found.base_ns).tolist()
    known = list(torch_categories(prof))
    for i, at, address, kind in zip(made, times, events.address[rows], around, strict=True):
        for time, pointer, category in known:
            if pointer == address and abs(time - at) <= 2000:
                size = int(blocks.bytes[i])
                yield category, categories.CATEGORIES[of[i]], kind, size


def torch_categories(prof: Any) -> Iterator[tuple[int, int, str]]:
    """Yield when and where each tensor was allocated, and its last category in torch."""
    profile = prof._memory_profile()
    made: dict[Any, tuple[int, int]] = {}
    last: dict[Any, str] = {}
    for time, action, (key, version), _ in profile.timeline:
        category = profile._categories.get(key, version) if hasattr(key, "storage") else None
        if category is not None:
            last[key] = category.name
        if action.name == "CREATE" and hasattr(key, "storage"):
            made[key] = (time, key.storage.ptr)
    return ((*made[key], category) for key, category in last.items() if key in made)
