"""Write a generated job as trace files, and read them as any other run."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.blame_jobs import KERNELS, ON_HOST, Simulated
from benchmarks.replay_accuracy import read
from tb_privateuse1.analysis.ranks.collectives import RankPart, reduce_trace


def read_back(job: Simulated) -> list[RankPart]:
    """Return the reduced traces of a job that went through trace files."""
    with tempfile.TemporaryDirectory() as folder:
        return [reduce_trace(read(path)) for path in write(job, Path(folder))]


def write(job: Simulated, folder: Path) -> Iterator[Path]:
    """Write the traces of a job, and yield each as it is written."""
    for rank in range(job.world):
        path = folder / f"rank{rank}.1.pt.trace.json.gz"
        path.write_bytes(gzip.compress(json.dumps(_document(job, rank)).encode(), 1))
        yield path


def _document(job: Simulated, rank: int) -> dict[str, Any]:
    far = 3_700_000_000 if job.has("clock", rank) else 0
    return {
        "schemaVersion": 1,
        "baseTimeNanoseconds": 1_700_000_000_000_000_000 + far,
        "host_name": f"node{rank // ON_HOST}",
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": job.world},
        "traceEvents": list(_events(job, rank)),
    }


def _events(job: Simulated, rank: int) -> Iterator[dict[str, Any]]:
    steps = job.begin.shape[1] - 1
    correlation = 0
    for step in range(steps):
        begin, stop = job.begin[rank, step], job.begin[rank, step + 1]
        yield _event("user_annotation", f"ProfilerStep#{step}", 1, begin, stop - begin - 1000)
        loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        yield _event("user_annotation", loader, 1, begin, job.loading[rank, step])
        now = begin + job.loading[rank, step]
        for k, one in enumerate(job.rounds):
            now += job.idle[rank, step, k]
            for name, part in KERNELS.items():
                took = part * job.computation[rank, step, k]
                correlation += 1
                yield from _launched(name, 7, now, took, correlation, {})
                now += took
            start, end = job.start[rank, step, k], job.end[rank, step, k]
            if not (job.has("missing", rank) and k == len(job.rounds) - 1):
                correlation += 1
                elements = int(one.bytes[rank]) // 4
                args = {
                    "Collective name": one.kind.replace("_", ""), "dtype": "Float",
                    "In msg nelems": elements, "Out msg nelems": elements,
                    "Group size": int((one.group == one.group[rank]).sum()),
                    "Process Group Name": f"{one.purpose}{one.group[rank]}",
                    "Process Group Description": one.purpose,
                }  # fmt: skip
                yield from _launched("ncclDevKernel", 20, start, end - start, correlation, args)
            if job.layout != "overlapped":
                now = end


def _launched(
    name: str, stream: int, start: float, took: float, correlation: int, args: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    ids = {"correlation": correlation}
    yield _event("cuda_runtime", "cudaLaunchKernel", 1, max(start - 20_000, 0), 5_000, ids)
    more = {**ids, **args, "device": 0, "stream": stream}
    yield _event("kernel", name, stream, start, took, more)


def _event(
    category: str, name: str, thread: int, start: float, took: float, args: Any = None
) -> dict[str, Any]:
    pid = 0 if category == "kernel" else 1
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": thread,
            "ts": round(start) / 1e3, "dur": round(took) / 1e3, "args": args or {}}  # fmt: skip
