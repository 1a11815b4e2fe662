"""Measure what starting costs: CPU seconds and modules per command, and TensorBoard's plugin.

Usage: python -m benchmarks.start_up [RUNS]

Each figure is the median of RUNS processes (5 by default), user and system time. The floors, the
bare interpreter and numpy, are measured in the same run: compare with them, machines differ.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

FLOORS = {"python": "pass", "python, numpy": "import numpy"}
COMMANDS = ("--help", "view overview", "view kernels", "advice", "view overview --json")
_LIST = (
    "import sys, atexit; atexit.register(lambda: sys.stderr.write('\\n' + str(len(sys.modules)) + "
    "' ' + str(sum(m.startswith('tb_privateuse1') for m in sys.modules)))); "
    "from tb_privateuse1.cli import main; main(sys.argv[1:])"
)
_READY = re.compile(rb"http://\S+?:(\d+)/")


def events() -> Iterator[dict[str, Any]]:
    """Yield ten events: a step of three operators, each with a launch and a kernel."""
    place = {"ph": "X", "pid": 1, "tid": 1}
    yield {**place, "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 1000}
    for i in range(3):
        link = {"External id": i + 1, "correlation": i + 1, "device": 0, "stream": 7}
        op, call = {"name": "aten::mm", "dur": 50}, {"name": "cudaLaunchKernel", "dur": 5}
        yield {**place, **op, "cat": "cpu_op", "ts": 10 + 100 * i, "args": link}
        yield {**place, **call, "cat": "cuda_runtime", "ts": 20 + 100 * i, "args": link}
        kernel = {"name": "gemm", "cat": "kernel", "pid": 0, "tid": 7, "dur": 60}
        yield {"ph": "X", **kernel, "ts": 40 + 100 * i, "args": link}


def cpu_s(command: Sequence[str], runs: int) -> float:
    """Return the median CPU seconds of a command's processes."""
    return statistics.median(_once_s(command) for _ in range(runs))


def _once_s(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def modules(arguments: Sequence[str]) -> str:
    """Return how many modules a command imports, and how many of them are ours."""
    command = [sys.executable, "-c", _LIST, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return " of which ours ".join(done.stderr.splitlines()[-1].split())


def tensorboard(logdir: Path, *, plugin: bool) -> tuple[float, float]:
    """Return CPU seconds and MiB of TensorBoard after its first list of plugins."""
    code = (
        "import sys; from tensorboard import default, main, program\n"
        "plugins = default.get_plugins()\n"
        f"keep = [p for p in plugins if {plugin} or 'tb_privateuse1' not in str(p)]\n"
        "board = program.TensorBoard(plugins=keep)\n"
        "board.configure(sys.argv); sys.exit(board.main())"
    )
    options = ["--logdir", str(logdir), "--port", "0", "--load_fast", "false"]
    command = [sys.executable, "-u", "-c", code, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            assert process.stdout is not None
            port = next(int(m[1]) for line in process.stdout if (m := _READY.search(line)))
            url = f"http://localhost:{port}/data/plugins_listing"
            with urllib.request.urlopen(url) as answer:
                assert ("privateuse1" in json.load(answer)) == plugin
            times = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            status = Path(f"/proc/{process.pid}/status").read_text()
            ticks = int(times[11]) + int(times[12])
            (kib,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
            return ticks / os.sysconf("SC_CLK_TCK"), int(kib) / 1024
        finally:
            process.terminate()


def main(runs: int) -> None:
    """Print the figures."""
    folder = Path(tempfile.mkdtemp())
    try:
        path = folder / "rank0.1.pt.trace.json"
        path.write_text(json.dumps({"traceEvents": list(events())}))
        for name, code in FLOORS.items():
            print(f"{name:24} {cpu_s([sys.executable, '-c', code], runs):.3f} CPU s")
        for text in COMMANDS:
            place = [] if text == "--help" else [str(folder)]
            arguments = [*text.split(), *place]
            command = [sys.executable, "-m", "tb_privateuse1.cli", *arguments]
            _once_s(command)  # which stores the trace
            print(f"{text:24} {cpu_s(command, runs):.3f} CPU s, {modules(arguments)} modules")
        for plugin in (False, True):
            found = [tensorboard(folder, plugin=plugin) for _ in range(runs)]
            took_s, mib = (statistics.median(values) for values in zip(*found, strict=True))
            name = "TensorBoard with us" if plugin else "TensorBoard without us"
            print(f"{name:24} {took_s:.2f} CPU s, {mib:.0f} MiB")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
