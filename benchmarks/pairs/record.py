"""Measure pairs one after the other, and keep one typical recording of each form before the fix.

The folder gets ``pairs.json`` with all that was measured, and ``NAME/before.1.pt.trace.json.gz``.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pairs import prediction
from benchmarks.pairs.pair import Pair

ROOT = Path(__file__).parents[2]
TRUTH = "pairs.json"
BEFORE = "before.1"
BOTH = ("before", "after")

_FREED_MEMORY = 1 << 30
"""The C library keeps this much. Else whether memory goes back to the system, and is cleared when
it comes again, changes from one run to the next and hides what a fix gains on the CPU."""

_NOTCH = 1.57
"""McGill, Tukey and Larsen (1978): a median is within this many IQR / sqrt(n), 95 % of the time."""


def record(
    modules: Sequence[tuple[str, Sequence[Pair]]],
    folder: Path,
    rounds: int,
    recordings: int,
    forms: Sequence[str] = ("before",),
) -> None:
    """Measure the pairs of modules; write their truth, and one recording of each of ``forms``.

    A pair replaces an earlier one of its name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / TRUTH
    truth = json.loads(file.read_text()) if file.exists() else {"pairs": {}}
    truth["machine"] = machine()
    for module, pair in [(module, pair) for module, pairs in modules for pair in pairs]:
        with tempfile.TemporaryDirectory() as work:
            one = measured(module, pair, Path(work), rounds, recordings)
            truth["pairs"][pair.name] = one
            keep(Path(work), folder / pair.name, one.pop("typical"), forms)
        print(f"{pair.name}: {one['before_ns'] / 1e6:.2f} ms before", flush=True)
        file.write_text(json.dumps(truth, indent=1) + "\n")


def machine() -> dict[str, object]:
    """Return what the times depend on."""
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }


def measured(module: str, pair: Pair, work: Path, rounds: int, recordings: int) -> dict[str, Any]:
    """Return the truth of one pair, and the number of its typical recording."""
    times = run(module, pair, work, rounds, recordings)
    numbers = times["recordings"]
    recorded = {
        form: [prediction.step_ns(trace_in(work / f"{form}-{number}")) for number in numbers]
        for form in BOTH
    }
    steps = times.get("steps", recorded)
    usual = statistics.median(recorded["before"])
    changes = pair.changes
    if "part" in times:
        ratio = statistics.median(times["part"]["after"]) / statistics.median(
            times["part"]["before"]
        )
        changes = tuple(change.replace("{part}", f"{ratio:.3g}") for change in changes)
    distance = {
        number: abs(step - usual) for number, step in zip(numbers, recorded["before"], strict=True)
    }
    return {
        "fix": pair.fix,
        "device": pair.device,
        "route": pair.route,
        "changes": changes,
        "work": pair.work,
        "before_ns": round(statistics.median(steps["before"])),
        "after_ns": round(statistics.median(steps["after"])),
        "gain_error_ns": round(gain_error(steps["before"], steps["after"], pair.work)),
        "recorded_before_ns": round(usual),
        "recorded_after_ns": round(statistics.median(recorded["after"])),
        "others_cores": round(steps.get("others", 0.0), 2),
        "typical": min(numbers, key=distance.__getitem__),
    }


def gain_error(before: list[float], after: list[float], work: float) -> float:
    """Return how uncertain the gain is: the notch of the median over rounds, ns."""
    gains = np.array(before) - np.array(after) / work
    low, high = np.percentile(gains, [25, 75])
    return float(_NOTCH * (high - low) / len(gains) ** 0.5)


def run(module: str, pair: Pair, work: Path, rounds: int, recordings: int) -> dict[str, Any]:
    """Run ``measure`` in a process of its own. Raises CalledProcessError with what it printed."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "examples" / "refdevice")])
    command = [
        *(sys.executable, "-W", "ignore", "-m", "benchmarks.pairs.measure"),
        *(module, pair.name, str(work)),
        *("--rounds", str(rounds), "--recordings", str(recordings)),
    ]
    memory = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), _FREED_MEMORY)
    environment = {
        **os.environ,
        **{name: str(value) for name, value in memory.items()},
        "PYTHONPATH": paths,
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True, text=True,
        start_new_session=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def trace_in(folder: Path) -> Path:
    """Return the one trace file of a folder."""
    (path,) = folder.glob("*.pt.trace.json.gz")
    return path


def keep(work: Path, folder: Path, typical: int, forms: Sequence[str]) -> None:
    """Copy the typical recording of each form, with its sidecar."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for form in forms:
        for path in (work / f"{form}-{typical}").glob("*.json.gz"):
            kind = "kernel_event" if ".kernel_event." in path.name else "pt.trace"
            text = without_places(gzip.decompress(path.read_bytes()))
            (folder / f"{form}.1.{kind}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))


def without_places(text: bytes) -> bytes:
    """Return a trace's text without the names of this machine and of its folders."""
    text = re.sub(rb'"(traceName|host_name)": "[^"]*"', rb'"\1": "pair"', text)
    for place in places():
        text = text.replace(place.encode(), b"")
    return text


def places() -> Iterator[str]:
    """Yield folders that frames of Python may be in, the innermost first."""
    found = [*sys.path, str(ROOT), str(Path(sys.prefix)), tempfile.gettempdir()]
    absolute = {f"{Path(each).resolve()}/" for each in found if each} | {
        f"{each.rstrip('/')}/" for each in found if each
    }
    yield from sorted(absolute, key=len, reverse=True)
