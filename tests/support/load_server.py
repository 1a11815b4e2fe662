"""One of several servers on a cache: ``python -m tests.support.load_server CACHE LOGDIR SEED``.

Asks for all traces of a logdir at once, in an order of its own, and says what it got (digests by
run) and how many traces it has read itself. With ``part`` behind SEED it asks for their parts.
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
from tests.support.same import digest, values


def main(folder: str, logdir: str, seed: str, what: str = "trace") -> None:
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
        answers = list(pool.map(getattr(made, what), [files for _, files in found]))
    made.close()
    digests = map(digest if what == "trace" else lambda part: repr(values(part)), answers)
    got = {place[0]: text for (place, _), text in zip(found, digests, strict=True)}
    print(json.dumps({"got": got, "readings": readings}))


if __name__ == "__main__":
    main(*sys.argv[1:])
