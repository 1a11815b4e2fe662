"""A stored trace of a million events, without a file of as many: a server reads its cache.

The file has one pass of a small model; its stored trace is replaced by one that has it many times.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import disk_cache, pyramid_file
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import Table
from tests.support.make import document, kernel, launch, op, step

PASSES = 50_000
PASS_NS = 100_000
RARE = "aten::seldom"
"""An operator that runs once, in the pass of this number:"""
RARE_PASS = 30_000


def write(folder: Path, stored: Path) -> Trace:
    """A run ``long`` with its trace, which is returned, in a cache directory."""
    (folder / "long").mkdir()
    events: list[dict[str, Any]] = [step(1, 0, 100), op(RARE, 98, 99, id=100)]
    for k in range(5):
        at = 18 * k
        events += [
            op("aten::linear", at, at + 16, id=4 * k + 1),
            op("aten::addmm", at + 2, at + 12, id=4 * k + 2),
            launch(at + 4, at + 6, correlation=k + 1),
            kernel("gemm", at + 7, at + 15, correlation=k + 1),
        ]
    path = folder / "long" / "host.1.pt.trace.json"
    path.write_text(json.dumps(document(*events)))
    files = catalog.scan(str(folder), READERS).find()
    many = _many(Store(jobs=0, cache_dir=stored).trace(files))
    target = stored / f"{disk_cache.cache_key(files)}.arrow"
    disk_cache.write_trace(many, target)
    pyramid_file.prepare(many, target)
    return many


def _many(once: Trace) -> Trace:
    steps = replace(
        once.steps, end_ns=np.array([PASSES * PASS_NS]), host_end_ns=np.array([PASSES * PASS_NS])
    )
    ops = _repeated(once.ops, {"parent": len(once.ops), "event": 0})
    # It would not be seldom otherwise.
    rare = np.flatnonzero(ops.name == once.strings.index(RARE))
    keep = np.ones(len(ops), np.bool_)
    keep[np.delete(rare, RARE_PASS)] = False
    number = np.cumsum(keep) - 1
    launches = _repeated(once.launches, {"op": len(once.ops), "around": len(once.ops), "event": 0})
    kernels = _repeated(
        once.kernels, {"op": len(once.ops), "launch": len(once.launches), "event": 0}
    )
    return replace(
        once,
        end_ns=PASSES * PASS_NS,
        steps=steps,
        ops=replace(ops.take(keep), parent=_moved(ops.parent[keep], number)),
        launches=replace(
            launches, op=_moved(launches.op, number), around=_moved(launches.around, number)
        ),
        kernels=replace(kernels, op=_moved(kernels.op, number)),
    )


def _moved(rows: Any, number: Any) -> Any:
    return np.where(rows >= 0, number[rows], rows).astype(np.int32)


def _repeated(table: Any, references: dict[str, int]) -> Any:
    """A table many times, each a pass later; its references go to rows of so many a pass."""
    passes = np.repeat(np.arange(PASSES), len(table))
    columns = {}
    for name, column in Table.columns(table):
        values = np.tile(column, PASSES)
        if name in ("start_ns", "end_ns"):
            values = values + passes * PASS_NS
        elif name == "event":
            values = np.full(len(values), -1, np.int32)  # the file has but the first pass
        elif name in references:
            values = np.where(values >= 0, values + passes * references[name], values)
        columns[name] = values.astype(column.dtype)
    return type(table)(**columns)
