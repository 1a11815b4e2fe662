"""A real TensorBoard in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any

from tests.support import warm_python

Process = warm_python.WarmProcess | subprocess.Popen[bytes]

_TENSORBOARD = "from tensorboard.main import run_main; run_main()"
"""What the command ``tensorboard`` runs."""
_ADDRESS = re.compile(r"http://localhost:\d+/\S*")
_START_S = 60
_ANSWER_S = 60
_END_S = 10

PLUGIN = "data/plugin/privateuse1/"


@dataclass(frozen=True)
class Answer:
    """An HTTP response as it came."""

    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        """The body's content."""
        return json.loads(self.body)


@dataclass
class Server:
    """A running TensorBoard; ``log`` is what it has said so far."""

    url: str
    process: Process
    log: list[str] = field(default_factory=list)

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Ask for a path below the server's address; a POST is as from one of its pages."""
        if method == "POST":
            headers = {"Origin": "/".join(self.url.split("/")[:3])} | headers
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.url + path, method=method, headers=named)
        try:
            with urllib.request.urlopen(request, timeout=_ANSWER_S) as response:
                return Answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.headers, error.read())

    def plugin(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Ask our plugin."""
        return self.get(PLUGIN + path, method, **headers)


FOLLOWS_LINKS = {"TB_PRIVATEUSE1_LINKS": "follow"}
"""For runs that are links to recordings elsewhere."""


@contextlib.contextmanager
def serve(
    *arguments: str | Path,
    python: str = sys.executable,
    cwd: Path | None = None,
    variables: Mapping[str, str] | None = None,
    before: str = "",
) -> Iterator[Server]:
    """TensorBoard on a free port. It is ended, and waited for, at the end of the block.

    ``before`` is code that its process runs first.
    """
    command = ["-c", before + _TENSORBOARD, "--port", "0", *map(str, arguments)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **(variables or {})}
    read, write = os.pipe()
    output = os.fdopen(read, errors="replace")
    process: Process
    if python == sys.executable:
        process = warm_python.start(
            warm_python.TENSORBOARD, command, stdout=write, stderr=write, cwd=cwd, env=environment
        )
    else:
        process = subprocess.Popen(
            [python, *command], stdout=write, stderr=write, cwd=cwd, env=environment,
            start_new_session=True,
        )  # fmt: skip
    os.close(write)
    server = Server("", process)
    found: queue.Queue[str | None] = queue.Queue()

    def listen() -> None:
        for line in output:
            server.log.append(line)
            if match := _ADDRESS.search(line):
                found.put(match[0])
        found.put(None)

    reader = threading.Thread(target=listen, daemon=True)
    reader.start()
    try:
        address = found.get(timeout=_START_S)
        assert address, "TensorBoard did not start:\n" + "".join(server.log)
        server.url = address
        yield server
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
        # Whoever is left: torch-tb-profiler's processes outlive the server and hold its output.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join()
        output.close()
