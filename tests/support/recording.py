"""A real recording: a workload of the reference device under our capture, in its own process.

Beside the trace it leaves ``averages.json``, what torch's own tables say of the same run, and the
device's log of what it really did (``truth.json.gz``, see ``refdevice.truth``).
"""

from __future__ import annotations

import dataclasses
import gzip
import importlib
import itertools
import json
import os
import shutil
import sys
import time
import traceback
import warnings
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.support import warm_python

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "refdevice"

_TRIES, _TRIES_S = 8, 90
"""How often it is recorded, and for how long: on an overloaded machine each time takes 20 s."""
HELD_UP_US = 1000
"""A pause inside of an operator that an idle host does not make."""


@dataclasses.dataclass(frozen=True)
class Average:
    """An operator's row of ``prof.key_averages()``; times in ns, allocated memory in bytes."""

    name: str
    shapes: str
    calls: int
    host_self_ns: int
    host_total_ns: int
    host_self_bytes: int
    device_self_bytes: int


def record(folder: Path, workload: str, *arguments: str, **environment: str) -> Path:
    """Record a workload into a folder; ``arguments`` are those of the workloads' scripts."""
    paths = os.pathsep.join([str(ROOT), str(EXAMPLE)])
    command = ["-W", "error", "-m", "tests.support.recording", workload]
    done = warm_python.run(
        warm_python.TORCH,
        [*command, "--out", folder, "--truth", *arguments],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    return folder


def record_undisturbed(folder: Path, *arguments: str, **environment: str) -> Path:
    """Record until the device was in time, and the host was not held up inside of an operator.

    The device runs on this machine's cores, and where others keep them busy, what the host sees
    of it is late; its log says so. A host that is held up makes limits wide
    (docs/internals/inference.md). If that is so in all of several recordings, this is the one in
    which it is least.
    """
    return record(folder, *arguments, "--tries", str(_TRIES), **environment)


def _disturbance(folder: Path) -> tuple[int, float]:
    """How late the device was in all, in ns, and for how long the host was held up at most."""
    late_ns: int = truth(folder)["lateness"]["total_ns"]
    return late_ns, longest_pause_us(folder)


def longest_pause_us(folder: Path) -> float:
    """Return the longest time inside of operators in which none of a thread begins or ends."""
    (trace,) = folder.glob("*.pt.trace.json")
    marks: dict[int, list[tuple[float, int]]] = {}
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event.get("cat") == "cpu_op":
            own = marks.setdefault(event["tid"], [])
            own += [(event["ts"], 1), (event["ts"] + event["dur"], -1)]
    longest = 0.0
    for own in marks.values():
        depth = 0
        for (at, opens), (then, _) in itertools.pairwise(sorted(own)):
            depth += opens
            longest = max(longest, then - at if depth else 0)
    return longest


def averages(folder: Path, suffix: str = "") -> list[Average]:
    """What torch says: all rows by name and shapes."""
    content = json.loads((folder / f"averages{suffix}.json").read_text())
    return [Average(**row) for row in content]


def truth(folder: Path) -> dict[str, Any]:
    """What the device did: columns with a row per launch, its settings and its lateness."""
    content: dict[str, Any] = json.loads(gzip.decompress((folder / "truth.json.gz").read_bytes()))
    return content


SELF_TEST = "tb_privateuse1::self_test"
"""The annotation around the operators that capture plants itself: they are not the program's."""


def rows(prof: Any) -> list[Average]:
    """The program's operators by name and shapes. torch has microseconds, in floats.

    Its tables mix in annotations, Python functions, memory, and the device's calls and kernels.
    """
    events = prof.events()
    operators = {event.name for event in events if event.activity_type == "cpu_op"}
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in prof.key_averages(group_by_input_shape=True):
        if row.key in operators:
            _count(found[row.key, str(row.input_shapes or "")], row, row.count)
    for event in _planted(events):
        _count(found[event.key, str(event.input_shapes or "")], event, 1, -1)
    return [
        Average(*key, *(one[figure] for figure in ("calls", "own", "total", "host", "device")))
        for key, one in found.items()
        if one["calls"]
    ]


def _count(to: Counter[str], row: Any, calls: int, sign: int = 1) -> None:
    own, total = (round(us * 1000) for us in (row.self_cpu_time_total, row.cpu_time_total))
    to.update(calls=sign * calls, own=sign * own, total=sign * total)
    host, device = row.self_cpu_memory_usage, row.self_device_memory_usage
    to.update(host=sign * host, device=sign * device)


def _planted(events: Iterable[Any]) -> list[Any]:
    """The operators inside the self-test."""
    ranges = [event for event in events if event.name == SELF_TEST]
    return [
        event
        for event in events
        if event.activity_type == "cpu_op"
        and any(
            event.thread == around.thread
            and around.time_range.start <= event.time_range.start <= around.time_range.end
            for around in ranges
        )
    ]


def planted_ids(trace: Path) -> set[int]:
    """The External ids of the operators inside the self-test of a trace."""
    events = json.loads(trace.read_text())["traceEvents"]
    ranges = [event for event in events if event.get("name") == SELF_TEST and "dur" in event]
    return {
        event["args"]["External id"]
        for event in events
        if event.get("cat") == "cpu_op"
        and any(
            event["tid"] == around["tid"]
            and around["ts"] <= event["ts"] <= around["ts"] + around["dur"]
            for around in ranges
        )
    }


def _profiler() -> Any:
    """Our capture, whose handler also writes torch's tables."""
    from tb_privateuse1 import capture

    def handler(folder: str, worker_name: str | None = None, **options: Any) -> Callable[..., None]:
        write = capture.tensorboard_trace_handler(folder, worker_name=worker_name, **options)
        suffix = (worker_name or "").rpartition("-rank")[2]

        def ready(prof: Any) -> None:
            write(prof)
            content = [dataclasses.asdict(row) for row in rows(prof)]
            Path(folder, f"averages{suffix}.json").write_text(json.dumps(content))

        return ready

    return SimpleNamespace(profile=capture.profile, tensorboard_trace_handler=handler)


def _rank(rank: int, port: int, options: Namespace) -> None:
    from refdevice.workloads import ddp, script

    script.capture = _profiler
    ddp.run_rank(rank, port, options)


def _record() -> None:
    """Record in this process, or for ``ddp`` in one for each rank."""
    import refdevice
    import torch
    from refdevice.workloads import ddp, script

    parser = script.arguments(__doc__)
    parser.add_argument("workload")
    parser.add_argument("--tries")
    options = parser.parse_args()
    if options.workload == "ddp":
        torch.multiprocessing.spawn(_rank, (ddp.free_port(), options), nprocs=ddp.RANKS)
        return
    refdevice.configure(**script.settings(options.set))
    torch.manual_seed(0)
    build = importlib.import_module(f"refdevice.workloads.{options.workload}").build
    script.record(build(options.device), options, _profiler())


def _in_a_child() -> bool:
    """Record in a copy of this process, which has torch already; whether it came to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # numpy's threads are idle
        child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        _record()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _record_again(out: Path, tries: int) -> None:
    import torch.profiler  # noqa: F401

    least, kept = (sys.maxsize, 0.0), out.with_name(f"{out.name}-kept")
    until = time.monotonic() + _TRIES_S
    for _ in range(tries):
        if kept.exists() and time.monotonic() > until:
            break
        shutil.rmtree(out, ignore_errors=True)
        if _in_a_child() and (now := _disturbance(out)) < least:
            least = now
            shutil.rmtree(kept, ignore_errors=True)
            out.rename(kept)
        if least < (0, HELD_UP_US):
            break
    shutil.rmtree(out, ignore_errors=True)
    kept.rename(out)


def main() -> None:
    """Record, with ``--tries`` until it was undisturbed or so often."""
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tries", type=int, default=1)
    told, _ = parser.parse_known_args()
    if told.tries == 1:
        _record()
    else:
        _record_again(told.out, told.tries)


if __name__ == "__main__":
    main()
