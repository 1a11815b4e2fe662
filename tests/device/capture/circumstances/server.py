"""Import torch once, and run each program of the standard input in a fork of this process.

A fork has torch and, if asked for, capture, but has used neither: a program in it behaves as one
that imported them itself. It ends as Python ends, so its exit code is that of a program.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

LIMIT_S = 40


def fork(request: dict[str, Any]) -> int:
    """Return 0 in the child, in its folder and with its output in the file ``output``."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(request["folder"])
        output = os.open("output", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return child


def wait(child: int) -> int | None:
    """Return the exit code of a child, the negative number of its signal, or None if it hangs."""
    end = time.monotonic() + LIMIT_S
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.01)


def serve() -> str:
    """Return the program in each child, and nothing in the server once the input has ended."""
    for line in sys.stdin:
        request = json.loads(line)
        child = fork(request)
        if child == 0:
            return str(request["program"])
        print(json.dumps(wait(child)), flush=True)
    return ""


if __name__ == "__main__":
    # The first profiler of a process imports it, for a second.
    import torch._inductor.config  # noqa: F401

    if sys.argv[1] != "torch":
        import tb_privateuse1.capture  # noqa: F401
    program = serve()
    exec(compile(program, "program", "exec"), {"__name__": "__main__"})
