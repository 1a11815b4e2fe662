"""What priming brings: the same workload of the reference device recorded without it and with it.

    PYTHONPATH=.:examples/refdevice python -m benchmarks.inference_priming [--speed 2] [--markdown]

Both are judged on the steps that were not primed; the one without it also as a later span of the
run whose first was primed (``elsewhere``). The device is made fast, so that the host is the
bottleneck and durations hide.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from benchmarks import inference_cases
from benchmarks.inference_accuracy import COLUMNS, ours, row
from benchmarks.inference_cases import Case, Truth
from benchmarks.inference_metrics import score
from tb_privateuse1.trace.model import EVIDENCE, Trace

ROOT = Path(__file__).resolve().parents[1]
WORKLOADS = ("mlp", "mha", "transformer", "inference")
_TRIES = 4

_SCRIPT = """
import importlib, sys
import refdevice, torch
from torch.profiler import ProfilerActivity as A, schedule
from tb_privateuse1 import capture
out, workload, prime, speed = sys.argv[1:]
refdevice.configure(speed=float(speed))
torch.manual_seed(0)
torch.set_num_threads(1)
step = importlib.import_module(f"refdevice.workloads.{workload}").build("refdev")
for _ in range(3):
    step()
torch.refdev.synchronize()
refdevice.truth.start()
with capture.profile(
    activities=[A.CPU, A.PrivateUse1],
    schedule=schedule(wait=0, warmup=2, active=4, repeat=1),
    on_trace_ready=capture.tensorboard_trace_handler(out, use_gzip=True),
    record_shapes=True,
    prime_ms=None if prime == "none" else prime if prime == "auto" else float(prime),
) as prof:
    for _ in range(6):
        step()
        prof.step()
torch.refdev.synchronize()
refdevice.truth.stop()
refdevice.truth.write(f"{out}/truth.json.gz")
"""


def record(folder: Path, workload: str, prime: str, speed: float) -> Case:
    """A recording of four steps; ``prime`` is ``none``, ``auto`` or milliseconds."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "examples" / "refdevice")])
    for attempt in range(_TRIES):
        out = folder / f"{workload}-{prime}-{attempt}"
        out.mkdir(parents=True)
        subprocess.run(
            [sys.executable, "-c", _SCRIPT, str(out), workload, prime, str(speed)],
            env={**os.environ, "PYTHONPATH": paths}, check=True, capture_output=True,
        )  # fmt: skip
        (case,) = (c for c in inference_cases.simulated(folder) if c.name == out.name)
        if _late(out) == 0:
            break
    return case


def _late(out: Path) -> int:
    """How often the host's cores, on which the device runs, were too busy for it."""
    found: int = inference_cases.content(out / "truth.json.gz")["lateness"]["count"]
    return found


def unprimed(case: Case, trace: Trace) -> tuple[Truth, Trace]:
    """Truth and kernels of the steps that were not primed."""
    plain = np.append(~trace.steps.primed, False)
    ids = trace.ops.external_id[plain[trace.ops.step]]
    mine = np.isin(case.truth.external_id, ids)
    truth = Truth(*(column[mine] for column in dataclasses.astuple(case.truth)))
    return truth, replace(trace, kernels=trace.kernels.take(plain[trace.kernels.step]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", type=float, default=2.0)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    columns = [*COLUMNS[:-1], "classes"]
    table = [columns, ["---"] * len(columns)]
    with tempfile.TemporaryDirectory() as folder:
        for workload in WORKLOADS:
            if options.only not in workload:
                continue
            plain, primed = (
                record(Path(folder), workload, prime, options.speed) for prime in ("none", "auto")
            )
            known = primed.trace()
            for prime, case, trace in (
                ("none", plain, plain.trace()),
                ("elsewhere", plain, plain.trace(known)),
                ("auto", primed, known),
            ):
                truth, rest = unprimed(case, trace)
                judged = score(ours(rest, trace.base_ns - case.raw.base_ns), truth)
                classes = np.bincount(rest.kernels.evidence, minlength=len(EVIDENCE))
                told = ", ".join(f"{EVIDENCE[i]} {n}" for i, n in enumerate(classes) if n)
                cells = row(workload, prime, len(trace.ops), judged, told)
                table.append(cells)
    for cells in table:
        print("| " + " | ".join(cells) + " |" if options.markdown else "\t".join(cells))


if __name__ == "__main__":
    main()
