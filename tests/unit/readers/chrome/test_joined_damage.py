"""Damaged recordings in one file: no part that opens has an activity of another recording."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tb_privateuse1.readers.chrome import CHROME, joined_processes
from tests.support.damage.changes import DAMAGES
from tests.support.damage.recordings import program
from tests.support.make import Event, document
from tests.support.repeats import repeats

_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_DAMAGES = sorted(DAMAGES.keys() - {"merge_ranks", "no_category"})


def _of_process(events: list[Event], pid: int, device: int) -> list[Event]:
    """Return events of a host's process; activities are of a device's, whose number is small."""
    return [
        event | {"pid": device if event.get("cat") in _DEVICE else pid, "source": pid}
        for event in events
    ]


def _joined(rng: random.Random) -> list[Event]:
    """Return two to four random programs, or one again, damaged with a chance of a half each."""
    first, late = program(rng), rng.choice((0.0, 3.0, 1000.0))
    has_own_device = rng.random() < 0.5
    parts = []
    for number in range(rng.choice((2, 2, 3, 4))):
        events = first if not number or rng.random() < 0.5 else program(rng)
        change = DAMAGES[rng.choice(_DAMAGES)]
        own = change(rng, events) if rng.random() < 0.5 else events
        own = [event | {"ts": event["ts"] + number * late} for event in own]
        parts += _of_process(own, 1000 + number, number if has_own_device else 0)
    by_time = rng.random() < 0.5
    return sorted(parts, key=lambda event: float(event["ts"])) if by_time else parts


def _sources(path: Path, events: list[Event]) -> dict[str, set[int]]:
    """Return by label of a file's recordings where their device's activities are from."""
    path.write_text(json.dumps(document(*events)))
    raw, sources = CHROME.read(str(path), None), {}
    for label in joined_processes.labels_in(str(path)):
        groups = joined_processes.of_label(raw, label).groups
        numbers = [n for c in _DEVICE if c in groups for n in groups[c].event.tolist()]
        sources[label] = {events[number]["source"] for number in numbers}
    return sources


@pytest.mark.long
def test_no_part_has_work_of_another_recording(tmp_path: Path) -> None:
    opened = 0
    for seed in range(repeats(200)):
        events = _joined(random.Random(seed))
        for label, sources in _sources(tmp_path / "merged.json", events).items():
            assert sources <= {int(label.split()[-1])}, seed
            opened += 1
    assert opened
