"""How many recorded operators run again on the CPU, with the recorded sizes, types and FLOPs.

    python -m benchmarks.taken_operators ../shared/traces --calls 200

Samples distinct calls of recordings (each at most ``--per-recording``), runs them under torch's
profiler and compares what it records with what the recording has. With ``--times`` it also says
how long those of recordings of a CPU take here, as ratios: of calls that take ten times as long as
a call from Python that does nothing. Record on the same machine, with the same OMP_NUM_THREADS.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from tb_privateuse1 import readers
from tb_privateuse1.analysis.work import registry
from tb_privateuse1.analysis.work.arguments import Tensor, parse_arguments
from tb_privateuse1.discovery import catalog
from tb_privateuse1.export.taken import recorded_calls, run_operator
from tb_privateuse1.export.taken.operator_call import Call, NotRunnable
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError

LARGEST_BYTES, LARGEST_FLOPS = 1 << 28, 10_000_000_000
"""What two cores do in a second."""
NEAR = 1.3
SECONDS = 0.05
"""For each state of the caches."""


def calls_of(folder: Path, most: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield random distinct calls of the recordings below a folder that fit on a CPU."""
    store = Store(jobs=0)
    for files in catalog.scan(str(folder), readers.READERS).files.values():
        try:
            trace = store.trace(files)
            found = recorded_calls.most_time(trace, np.ones(len(trace.ops), np.bool_), 1000)
        except TraceError:
            continue
        fitting = [msgspec.to_builtins(one) for one in found if _fits(one)]
        random.Random(seed).shuffle(fitting)
        for case in fitting[:most]:
            yield {**case, "file": files.trace.path}


def _fits(call: recorded_calls.RecordedCall) -> bool:
    work = call.work
    sizes = [one.tensor for one in call.inputs if isinstance(one, recorded_calls.TensorInput)]
    moved = sum(int(np.prod(size, dtype=np.int64)) * 8 for size in sizes)
    return moved < LARGEST_BYTES and (work.flops or 0) < LARGEST_FLOPS


def again(case: dict[str, Any]) -> str | None:
    """Run a call and compare what torch records of it; return the difference, or None."""
    try:
        with torch.no_grad():
            call = Call(case, "cpu")
            with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
                call.run()
    except (NotRunnable, RuntimeError, NotImplementedError) as error:
        return f"cannot run: {str(error).splitlines()[0][:120]}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        recorded.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    texts = next((e["args"] for e in events if e.get("name") == case["operator"]), None)
    if texts is None:
        return "another operator ran"
    keys = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
    columns = (json.dumps(texts[key]) for key in keys)
    found = parse_arguments(case["operator"], *columns)
    for given, one in zip(case["inputs"], found.inputs, strict=True):
        if (words := _difference(given, one)) is not None:
            return words
    work = registry.work_of(found)
    if work is not None and None not in (work.flops, case["work"]["flops"]):
        return None if work.flops == case["work"]["flops"] else "other FLOPs"
    return None


def _difference(given: dict[str, Any], one: Any) -> str | None:
    if "tensors" in given:  # torch records the tensors of short lists only
        same = one is None or [list(t.shape) for t in one] == [*map(list, given["tensors"])]
        return None if same else f"a list {one}"
    if "tensor" not in given:
        return None
    if not isinstance(one, Tensor):
        return f"{one} instead of {given}"
    same = (list(one.shape), one.dtype) == (list(given["tensor"]), given["dtype"])
    strided = given["strides"] is None or list(one.strides or ()) == list(given["strides"])
    return None if same and strided else f"{one} instead of {given}"


def main() -> None:
    """Print each difference and the two shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--per-recording", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", action="store_true")
    options = parser.parse_args()
    cases = list(calls_of(options.folder, options.per_recording, options.seed))
    random.Random(options.seed).shuffle(cases)
    cases = cases[: options.calls]
    lost = 0
    compared: list[Compared] = []
    for case in cases:
        difference = again(case)
        if difference is not None:
            lost += 1
            print(f"{case['operator']}: {difference} ({Path(case['file']).parent.name})")
        elif options.times and case["recorded"]["device_ns"] is None:
            compared += filter(None, [timed(case)])
    files = len({case["file"] for case in cases})
    print(f"{len(cases) - lost} of {len(cases)} calls of {files} recordings ran as recorded")
    for line in shares(compared):
        print(line)


class Compared(NamedTuple):
    """Times here by those of the recording."""

    warm: float
    cold: float
    middle: float
    least: float
    """Of the shortest calls of both."""


def timed(case: dict[str, Any]) -> Compared | None:
    """Time a call on the CPU; None if it is hardly longer than a call that does nothing."""
    with torch.no_grad():
        timing = run_operator.measure(Call(case, "cpu").run, "cpu", SECONDS)
    median_ns, least_ns = case["recorded"]["host_ns"], case["recorded"]["host_least_ns"]
    if least_ns <= run_operator.TINY * timing.floor_ns:
        return None
    cold_ns = timing.cold_ns or timing.median_ns
    return Compared(
        warm=timing.median_ns / median_ns,
        cold=cold_ns / median_ns,
        middle=timing.middle_ns / median_ns,
        least=timing.least_middle_ns / least_ns,
    )


def shares(found: Sequence[Compared]) -> Iterator[str]:
    """Yield how many times were reproduced, in each sense."""
    if not found:
        return
    count = len(found)
    ranges = [sorted((one.warm, one.cold)) for one in found]
    between = sum(low / NEAR <= 1 <= high * NEAR for low, high in ranges)
    yield f"{between} of {count} recorded times are within {NEAR} of warm to cold caches"
    for key, words in (
        ("warm", "with warm caches"),
        ("cold", "with cold caches"),
        ("middle", "by the geometric mean of both"),
        ("least", "by the same of the shortest calls, here and there"),
    ):
        ratios = [getattr(one, key) for one in found]
        near = sum(1 / NEAR <= ratio <= NEAR for ratio in ratios)
        yield f"{near} of {count} within {NEAR} {words}, {statistics.median(ratios):.2f} times"


if __name__ == "__main__":
    main()
