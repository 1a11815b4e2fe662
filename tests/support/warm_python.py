"""Python processes that have slow modules already: forks of one process that imported them.

torch with its profiler takes 5 s of a processor to import, TensorBoard 1.5 s, and hundreds of tests
start a program with one of them. A fork has the modules and has not used them yet. It gets its own
arguments, environment, folder and output, and its exit code is that of a program.

``python warm_python.py MODULE …`` is the process that forks. It takes requests on a Unix socket
that it has as its standard input, one connection each, and ends with the process that started it.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

TORCH = ("torch", "torch._inductor.config")
"""The first profiler of a process imports the second one, which takes 2 s of a processor."""
TENSORBOARD = ("tensorboard.main",)

_START_S = 120
_MESSAGE_BYTES = 1 << 20


class WarmProcess:
    """A running program, with the methods of ``subprocess.Popen`` that tests use."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = b""
        self.pid = self._number()
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, negative for a signal; raise TimeoutExpired if it goes on."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                self.returncode = self._number()
            except TimeoutError:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0) from None
            self._connection.close()
        return self.returncode

    def _number(self) -> int:
        """Return what the server says next: the program's id, then its exit code."""
        while b"\n" not in self._received:
            more = self._connection.recv(_MESSAGE_BYTES)
            assert more, "the process that forks has ended"
            self._received += more
        line, _, self._received = self._received.partition(b"\n")
        return int(line)

    def poll(self) -> int | None:
        """Return the exit code, or None while the program runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0.001)
        return None

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the program has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the program to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the program."""
        self.send_signal(signal.SIGKILL)


def start(
    modules: Sequence[str],
    arguments: Sequence[str | Path],
    *,
    stdout: IO[Any] | int,
    stderr: IO[Any] | int,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
) -> WarmProcess:
    """Start ``python ARGUMENTS`` with ``modules`` imported; it leads a session of its own."""
    request = {
        "arguments": [str(argument) for argument in arguments],
        "cwd": str(cwd or Path.cwd()),
        "env": dict(os.environ if env is None else env),
    }
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(_server(tuple(modules)))
    files = [file if isinstance(file, int) else file.fileno() for file in (stdout, stderr)]
    socket.send_fds(connection, [json.dumps(request).encode() + b"\n"], files)
    return WarmProcess(connection)


def run(
    modules: Sequence[str],
    arguments: Sequence[str | Path],
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float,
) -> subprocess.CompletedProcess[str]:
    """Run ``python ARGUMENTS`` with ``modules`` imported, as ``subprocess.run`` with its output.

    A program that takes longer than ``timeout`` seconds is killed, with all of its session, and
    raises ``TimeoutExpired``.
    """
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        process = start(modules, arguments, stdout=stdout, stderr=stderr, cwd=cwd, env=env)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read())
    return subprocess.CompletedProcess(list(map(str, arguments)), code, *texts)


@functools.cache
def _server(modules: tuple[str, ...]) -> str:
    """Return the address of the process that forks; it starts on first use."""
    folder = tempfile.mkdtemp(prefix="warm-python-")
    address = f"{folder}/socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        server = subprocess.Popen(
            [sys.executable, __file__, *modules],
            stdin=listening.fileno(), stdout=subprocess.PIPE, env=clean, start_new_session=True,
        )  # fmt: skip
    atexit.register(_end, server, folder)
    assert server.stdout is not None
    assert server.stdout.read(5) == b"ready", f"{modules} cannot be imported"
    return address


def _end(server: subprocess.Popen[bytes], folder: str) -> None:
    server.kill()
    server.communicate()
    Path(folder, "socket").unlink()
    Path(folder).rmdir()


def _serve(listening: socket.socket) -> list[str]:
    """Return the arguments in each program's process; the server itself never returns."""
    parent = os.getppid()
    listening.settimeout(1)
    while os.getppid() == parent:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        try:
            connection, _ = listening.accept()
        except TimeoutError:
            continue
        with connection:
            content, files, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES, 2)
            while not content.endswith(b"\n"):
                content += connection.recv(_MESSAGE_BYTES)
            if os.fork() == 0:  # one that waits for the program and tells how it ended
                listening.close()
                program = os.fork()
                if program == 0:
                    connection.close()
                    return _become(json.loads(content), files)
                connection.sendall(f"{program}\n".encode())
                for file in (0, 1, 2, *files):  # only the program holds its output open
                    os.close(file)
                code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
                with contextlib.suppress(OSError):
                    connection.sendall(f"{code}\n".encode())
                os._exit(0)
        for file in files:
            os.close(file)
    os._exit(0)


def _become(request: dict[str, Any], files: Sequence[int]) -> list[str]:
    """Return the arguments, in a process with the folder, environment and output of a program."""
    os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    if fsspec := sys.modules.get("fsspec"):  # it read its variables when it was imported
        fsspec.config.set_conf_env(fsspec.config.conf)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for target, file in enumerate(files, 1):
        os.dup2(file, target)
        os.close(file)
    sys.stdout.reconfigure(write_through="PYTHONUNBUFFERED" in os.environ)  # type: ignore[union-attr]
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    arguments: list[str] = request["arguments"]
    while arguments[0] in ("-u", "-W"):
        if arguments.pop(0) == "-W":
            action, _, category = arguments[0].partition("::")
            warnings.simplefilter(action, getattr(builtins, category or "Warning"))  # type: ignore[arg-type]
            sys.warnoptions.append(arguments.pop(0))
    return arguments


def _main() -> list[str]:
    """Import what is asked for, and return in each process that is to run a program."""
    sys.path.pop(0)  # the folder of this file
    for module in sys.argv[1:]:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    listening = socket.socket(fileno=os.dup(0))
    os.write(1, b"ready")
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    return _serve(listening)


if __name__ == "__main__":
    kind, *sys.argv = _main()
    if kind == "-c":
        sys.path.insert(0, "")
        code, sys.argv[0] = sys.argv[0], "-c"
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    elif kind == "-m":
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(kind).parent))
        sys.argv.insert(0, kind)
        runpy.run_path(kind, run_name="__main__")
