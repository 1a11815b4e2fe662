"""A run of each format that can be read: ``write(logdir)``, or one of ``RUNS`` alone."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import (
    ascend,
    execution_traces,
    flight_recorders,
    make,
    memory_timelines,
    nsight,
    packings,
    perfetto_program,
    rocprof,
    snapshots,
    trace_files,
)

STEPS = 3
_NAME = "host_1.1700000000000000000"
_TRACE = f"{_NAME}.pt.trace.json"


def events() -> list[make.Event]:
    """Steps of operators that launch kernels, with counters and memory."""
    found: list[make.Event] = []
    for number in range(STEPS):
        begin = 1000 * number
        found.append(make.step(number, begin, begin + 1000))
        for i in range(6):
            start, call = begin + 150 * i, 6 * number + i + 1
            inputs = {"Input Dims": [[64, 32], [32, 8]], "Record function id": 10 + call}
            found += [
                make.op("aten::mm", start, start + 100, id=call, **inputs),
                make.launch(start + 10, start + 20, call),
                make.kernel(f"gemm_{i % 2}", start + 40, start + 140, call),
                make.memory(start + 5, 4096, 4096 * call, 1, Addr=4096 * call),
            ]
        found += [_counter("Power", begin + 100 * i, W=300 + 10 * i) for i in range(10)]
    return found


def _counter(name: str, at: float, **values: float) -> make.Event:
    return {"ph": "C", "pid": 1, "name": name, "ts": at, "args": values}


def document() -> dict[str, Any]:
    """The trace of ``events``, whose times begin with those of the snapshots."""
    return make.document(*events(), baseTimeNanoseconds=snapshots.START_US * 1000)


def _plain(folder: Path) -> None:
    trace_files.write(folder / _TRACE, document())


def _event_list(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / _TRACE).write_text(json.dumps(events()))


def _event_lines(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / _TRACE).write_text("\n".join(map(json.dumps, events())))


def _packed(packing: str, suffix: str) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        folder.mkdir(parents=True)
        data = json.dumps(document()).encode()
        (folder / f"{_TRACE}{suffix}").write_bytes(packings.PACK[packing](data))

    return build


def _zip(folder: Path) -> None:
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "job.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"job/{_TRACE}", json.dumps(document()))


def _tar(folder: Path) -> None:
    folder.mkdir(parents=True)
    data = json.dumps(document()).encode()
    with tarfile.open(folder / "job.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo(f"job/{_TRACE}")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))


def _ascend_folder(folder: Path) -> None:
    ascend.Program(steps=STEPS).folder(folder, forms=("json", "csv"))


def _snapshot_alone(folder: Path) -> None:
    folder.mkdir(parents=True)
    content = snapshots.snapshot(snapshots.training(1), snapshots.training(2, steps=1, device=1))
    snapshots.write(folder / f"{_NAME}.memory_snapshot.pickle", content)


def _snapshot_beside(folder: Path) -> None:
    without = [event for event in events() if event.get("name") != "[memory]"]
    start = snapshots.START_US * 1000
    trace_files.write(folder / _TRACE, make.document(*without, baseTimeNanoseconds=start))
    content = snapshots.snapshot(snapshots.training(1))
    snapshots.write(folder / f"{_NAME}.memory_snapshot.pickle", content)


def _execution_trace(folder: Path) -> None:
    _plain(folder)
    tensor = execution_traces.tensor
    nodes = [
        execution_traces.node(
            11 + i, "aten::mm", [tensor(7, 64, 32), tensor(8, 32, 8)], [tensor(9 + i, 64, 8)]
        )
        for i in range(6 * STEPS)
    ]
    (folder / "execution_trace.json").write_text(execution_traces.text(*nodes))


def _perfetto(folder: Path) -> None:
    folder.mkdir(parents=True)
    perfetto_program.Program(steps=STEPS).write(folder / "job.pftrace")


def _recorders() -> list[flight_recorders.Rank]:
    """Return the recorders of a job that hangs: rank 1 did not join the last collective."""
    ranks = [flight_recorders.Rank(i, {"0": (0, 1), "tp": (0, 1)}) for i in (0, 1)]
    for rank in ranks:
        for _ in range(STEPS):
            rank.call().call("broadcast", shape=(4, 64)).call("all_gather", group="tp")
    ranks[0].call(state="started", line=21)
    return ranks


def _flight_recorder(folder: Path) -> None:
    for rank in _recorders():
        rank.dump(folder)


def _flight_recorder_beside(folder: Path) -> None:
    for rank in _recorders():
        rank.dump(folder)
        start = rank.entries[0]["time_created_ns"]
        distributed = {"rank": rank.rank, "world_size": 2, "backend": "nccl"}
        content = make.document(*events(), baseTimeNanoseconds=start, distributedInfo=distributed)
        trace_files.write(folder / f"host_{rank.rank}.1700000000000000000.pt.trace.json", content)


RUNS: dict[str, Callable[[Path], object]] = {
    "chrome": _plain,
    "list": _event_list,
    "lines": _event_lines,
    "zstd": _packed("zstd", ".zst"),
    "xz": _packed("xz", ".xz"),
    "bzip2": _packed("bzip2", ".bz2"),
    "zip": _zip,
    "tar": _tar,
    "ascend_database": lambda f: ascend.Program(steps=STEPS).database(
        f / "ascend_pytorch_profiler_0.db"
    ),
    "ascend_folder": _ascend_folder,
    "nsight": lambda f: nsight.Program(steps=STEPS).database(f / "report.sqlite"),
    "rocprof": lambda f: rocprof.Program(steps=STEPS).database(f / "77_results.db"),
    "rocprof_json": lambda f: rocprof.Program(steps=STEPS).json(f / "77_results.json"),
    "snapshot": _snapshot_alone,
    "snapshot_beside": _snapshot_beside,
    "execution_trace": _execution_trace,
    "perfetto": _perfetto,
    "memory_timeline": lambda f: memory_timelines.write(
        f / "job.raw.json", memory_timelines.timeline(200)
    ),
    "flight_recorder": _flight_recorder,
    "flight_recorder_beside": _flight_recorder_beside,
}
"""How to write the run of a format into a folder, which is made."""


def write(logdir: Path) -> Path:
    """Write a run of each format, named after it; returns the logdir."""
    for name, build in RUNS.items():
        build(logdir / name)
    return logdir
