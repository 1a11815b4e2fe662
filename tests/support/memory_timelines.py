"""Raw memory timelines as torch's ``export_memory_timeline_raw`` writes them: ``timeline()``."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

START_NS = 1_700_000_000_000_000_000

Event = list[int]
"""Time in ns, action, bytes and category."""


def timeline(steps: int = 20, seed: int = 1, start_ns: int = START_NS) -> list[Event]:
    """Return what was there before, then creations, new versions and releases of ``steps``."""
    rng = random.Random(seed)
    events = [[-1, 1, 4096, 0], [-1, 1, 512, 7]]
    live: list[tuple[int, int]] = []
    at = start_ns
    for _ in range(steps):
        at += rng.randrange(1, 5000)
        size, category = rng.randrange(512, 1 << 20), rng.randrange(8)
        events.append([at, 2, size, category])
        if rng.random() < 0.3:
            events += [[at + 1, 3, -size, category], [at + 1, 3, size, 5]]
            category = 5
        live.append((size, category))
        if rng.random() < 0.6:
            size, category = live.pop(rng.randrange(len(live)))
            events.append([at + 2, 4, -size, category])
    return events


def write(path: Path, events: list[Event]) -> Path:
    """Write a timeline, into a folder that is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(events))
    return path


def recorded(events: list[Event]) -> list[dict[str, Any]]:
    """Return the memory events of the same changes, as the profiler's trace has them."""
    return [
        {
            "ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9,
            "ts": f"{at // 1000}.{at % 1000:03}",
            "args": {"Addr": 4096 + i, "Bytes": size, "Device Type": 0, "Device Id": -1},
        }
        for i, (at, action, size, _) in enumerate(events)
        if action in (2, 4)
    ]  # fmt: skip
