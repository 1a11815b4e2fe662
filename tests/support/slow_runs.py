"""Runs slow examples: ``python -m tests.support.slow_runs LOGDIR SCRIPT…``.

Each runs as the main program of a process of its own, as from the command line, but one that has
torch already: importing it, and what optimizers import, takes longer than what they do.

One whose host was held up runs again: a step that takes 20 times as long as the others, of four,
makes a fault that is in all of them a small one.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import statistics
import sys
import traceback
from pathlib import Path

SLOW = Path(__file__).resolve().parents[2] / "examples" / "slow"


_TRIES = 4
_HELD_UP = 3
"""Times as long as usual."""


def run(log: Path, script: str) -> None:
    """Run a script until its steps are even. Raises SystemExit if it fails."""
    for _ in range(_TRIES):
        shutil.rmtree(log / script, ignore_errors=True)
        _once(log, script)
        steps = _steps_us(log / script)
        if max(steps) < _HELD_UP * statistics.median(steps):
            break


def _steps_us(folder: Path) -> list[float]:
    (trace,) = folder.glob("*.pt.trace.json")
    events = json.loads(trace.read_text())["traceEvents"]
    steps = [event for event in events if event.get("cat") == "user_annotation"]
    return [step["dur"] for step in steps if step["name"].startswith("ProfilerStep#")]


def _once(log: Path, script: str) -> None:
    child = os.fork()
    if child == 0:
        path = SLOW / f"{script}.py"
        sys.argv, sys.path[0] = [str(path), str(log / script)], str(SLOW)
        try:
            runpy.run_path(str(path), run_name="__main__")
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"{script} failed")


def main(log: Path, scripts: list[str]) -> None:
    """Run them one after the other."""
    import torch._dynamo
    import torch.profiler
    import torch.utils.data  # noqa: F401

    for script in scripts:
        run(log, script)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
