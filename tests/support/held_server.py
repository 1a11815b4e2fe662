"""A server that stops where a test wants to kill it.

``python -m tests.support.held_server WHERE MARK CACHE LOGDIR`` reads all traces of a logdir.
When it is in the middle of ``parsing``, ``writing``, ``storing a part`` or ``evicting``, it writes
the id of the process that is there to MARK and goes no further.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import cache_directory, worker_process
from tb_privateuse1.storage.store import Store

HOLD = """
import os, time
from pathlib import Path
def hold():
    mark = Path({mark!r})
    mark.with_suffix(".new").write_text(str(os.getpid()))
    mark.with_suffix(".new").rename(mark)
    time.sleep(600)
"""
IN_READER = {
    "parsing": """
from tb_privateuse1.storage import ingest
def read(path, progress, *more):
    progress("reading", 1, 4, 7)
    hold()
ingest.readers.read = read
""",
    "writing": """
from tb_privateuse1.storage import arrow_file
write = arrow_file._Summed.write
def some(self, data):
    if self.checksum:
        self._file.write(bytes(data)[: len(data) // 2])
        self._file.flush()
        hold()
    return write(self, data)
arrow_file._Summed.write = some
""",
    "storing a part": """
from tb_privateuse1.storage import part_file
write = part_file.arrow_file._Summed.write
def some(self, data):
    if self.checksum and ".part." in self._file.name:
        self._file.write(bytes(data)[: len(data) // 2])
        self._file.flush()
        hold()
    return write(self, data)
part_file.arrow_file._Summed.write = some
""",
}

WAITS = """
import time
from pathlib import Path
from tb_privateuse1.storage import ingest
read = ingest.readers.read
def later(path, progress, *more):
    while (Path({folder!r}) / Path(path).parent.name).exists():
        progress("reading", 1 << 20, 4 << 20, 7)
        time.sleep(0.02)
    return read(path, progress, *more)
ingest.readers.read = later
"""


def readers_first(code: str) -> None:
    """Let each reader's process run this code before its own."""
    popen = subprocess.Popen

    def held(command: list[str], **options: Any) -> Any:
        return popen([*command[:-1], code + command[-1]], **options)

    worker_process.subprocess.Popen = held


def waiting_for(folder: Path) -> str:
    """Return code for a server: it reads a run while ``folder`` has no file of the run's name."""
    code = WAITS.format(folder=str(folder))
    return f"from tests.support import held_server; held_server.readers_first({code!r});"


def main(where: str, mark: str, folder: str, logdir: str) -> None:
    code = HOLD.format(mark=mark)
    if where == "evicting":
        space: dict[str, Any] = {}
        exec(code, space)
        removed = cache_directory.evict

        def some(path: Path) -> bool:
            assert removed(path)
            space["hold"]()
            return True

        cache_directory.evict = some
    else:
        readers_first(code + IN_READER[where])
    made = Store(1, Path(folder))
    for files in catalog.scan(logdir, READERS).files.values():
        made.trace(files)


if __name__ == "__main__":
    main(*sys.argv[1:])
