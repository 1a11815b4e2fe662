"""Record the reference device in every regime that makes inference easy or hard.

    python -m benchmarks.inference_regimes FOLDER [--variations] [REGIME ...]

Writes trace, sidecar and the device's own log below ``FOLDER/<regime>``, each in a process of its
own, for ``python -m benchmarks.inference_accuracy --folder FOLDER``. Needs torch and a compiler.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]

Step = Callable[[], object]


@dataclass(frozen=True)
class Regime:
    """A workload on a device with some settings (examples/refdevice/README.md)."""

    workload: str
    settings: dict[str, object] = field(default_factory=dict)
    around: str = ""
    """What happens around each step: one of ``AROUND``."""
    steps: int = 6


REGIMES = {
    "device_bound": Regime("mlp", {"speed": 0.2, "queue_depth": 16}),
    "device_bound_backlog": Regime("transformer", {"speed": 0.15, "queue_depth": 0}),
    "host_bound": Regime("transformer", {"speed": 20.0, "kernel_fixed_ns": 30_000}),
    "mixed": Regime("transformer", {"speed": 1.0}),
    "mixed_mlp": Regime("mlp", {"speed": 1.0}),
    "synchronizing": Regime("inference"),
    "waits": Regime("mlp", {}, "wait"),
    "streams": Regime("streams", {"speed": 0.5}),
    "streams_host_bound": Regime("streams", {"speed": 20.0, "kernel_fixed_ns": 30_000}),
    "several_kernels": Regime("mlp", {"kernels_per_launch": 3}),
    "event_cost": Regime("transformer", {"event_cost_ns": 2000}),
    "gaps": Regime("transformer", {"kernel_gap_ns": 900}),
    "jitter": Regime("transformer", {"jitter": 0.2, "launch_jitter_ns": 3000}),
    "drift": Regime("transformer", {"clock_drift_ppm": 40.0}),
    "stalls": Regime("mlp", {}, "stall"),
    "busy_host": Regime("mlp", {}, "compete"),
    "worker_thread": Regime("mlp", {}, "thread"),
    "coarse_10us": Regime("transformer", {"elapsed_resolution_ns": 10_000}),
    "kernel_sum": Regime("transformer", {"elapsed_kind": "kernel_sum"}),
    "host_synchronous": Regime("mlp", {"elapsed_kind": "host"}),
    "milliseconds": Regime("mlp", {"elapsed_unit": "ms"}),
    "long": Regime("transformer", {}, "", 120),
}


_DEVICES: dict[str, dict[str, object]] = {
    "slow": {"speed": 0.3, "launch_latency_ns": 9_000},
    "even": {"speed": 1.5, "kernel_gap_ns": 1_400, "launch_jitter_ns": 1_500},
    "quick": {"speed": 12.0, "kernel_fixed_ns": 20_000, "launch_latency_ns": 4_000},
    "noisy": {"speed": 0.8, "jitter": 0.15, "launch_jitter_ns": 4_000, "clock_drift_ppm": -30.0},
    "dear": {"speed": 0.6, "event_cost_ns": 1_200, "queue_depth": 64},
}

_PROGRAMS = {
    "mlp": ("mlp", ""),
    "mlp_stall": ("mlp", "stall"),
    "mha_wait": ("mha", "wait"),
    "transformer_compete": ("transformer", "compete"),
    "inference": ("inference", ""),
    "streams": ("streams", ""),
}

VARIATIONS = {
    f"{program}_{device}": Regime(workload, settings, around, 4)
    for program, (workload, around) in _PROGRAMS.items()
    for device, settings in _DEVICES.items()
}
"""Each program on each device, for a judgment of what was developed on the regimes."""


def _waiting(step: Step) -> Step:
    import torch

    def run() -> None:
        step()
        with torch.profiler.record_function("synchronize"):
            torch.accelerator.synchronize()

    return run


def _stalling(step: Step) -> Step:
    chance = random.Random(0)

    def run() -> None:
        time.sleep(chance.uniform(0, 0.004))
        step()

    return run


def _competing(step: Step) -> Step:
    """As many busy threads as cores, which hold no lock of Python's for long."""
    import numpy as np

    def burn() -> None:
        block = np.random.default_rng(0).random(1 << 16)
        while True:
            np.sort(block)

    for _ in range(os.cpu_count() or 1):
        threading.Thread(target=burn, daemon=True).start()
    return step


AROUND: dict[str, Callable[[Step], Step]] = {
    "": lambda step: step,
    "thread": lambda step: step,
    "wait": _waiting,
    "stall": _stalling,
    "compete": _competing,
}


def record(name: str, folder: Path) -> None:
    """Record one regime in this process."""
    import refdevice
    import torch
    from refdevice.workloads.script import arguments
    from refdevice.workloads.script import record as profiled

    regime = {**REGIMES, **VARIATIONS}[name]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    refdevice.configure(**regime.settings)
    out = folder / name
    wanted = ["--out", str(out), "--steps", str(regime.steps), "--truth", "--gzip"]
    options = arguments(None).parse_args([*wanted, "--worker-name", name])
    build = importlib.import_module(f"refdevice.workloads.{regime.workload}").build
    step = AROUND[regime.around](build("refdev"))
    if regime.around == "thread":
        thread = threading.Thread(target=profiled, args=(step, options))
        thread.start()
        thread.join()
    else:
        profiled(step, options)


def record_all(folder: Path, names: list[str]) -> None:
    """Record regimes one after the other, each in a process of its own."""
    paths = [str(ROOT / "examples" / "refdevice"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    for name in names:
        command = [sys.executable, "-m", __spec__.name, str(folder), "--here", name]
        subprocess.run(command, env=environment, check=True, cwd=ROOT)
        print(f"{name}: recorded", flush=True)


def main() -> None:
    """Record all regimes or variations, or some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("regime", nargs="*")
    parser.add_argument("--variations", action="store_true", help="these instead of the regimes")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        record(options.here, options.folder)
    else:
        every = VARIATIONS if options.variations else REGIMES
        record_all(options.folder.resolve(), options.regime or list(every))


if __name__ == "__main__":
    main()
