"""One of several servers on a cache: ``python -m tests.support.load_server CACHE LOGDIR SEED``.

Asks for all traces of a logdir at once, in an order of its own, and says what it got (digests by
run) and how many traces it has read itself.
"""

from __future__ import annotations

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.engines import local
from tb_privateuse1.storage.store import Store
from tests.support.same import digest


def main(folder: str, logdir: str, seed: str) -> None:
    readings: list[str] = []
    original = local.in_process

    def counted(files: TraceFiles, *rest: Any, **options: Any) -> Path:
        readings.append(files.trace.name)
        return original(files, *rest, **options)

    vars(local)["in_process"] = counted
    found = list(catalog.scan(logdir, READERS).files.items())
    random.Random(seed).shuffle(found)
    made = Store(2, Path(folder))
    with ThreadPoolExecutor(len(found)) as pool:
        traces = list(pool.map(made.trace, [files for _, files in found]))
    made.close()
    got = {place[0]: digest(trace) for (place, _), trace in zip(found, traces, strict=True)}
    print(json.dumps({"got": got, "readings": readings}))


if __name__ == "__main__":
    main(*sys.argv[1:])
