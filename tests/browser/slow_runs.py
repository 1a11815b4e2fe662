"""Runs slow examples: ``python -m tests.browser.slow_runs LOGDIR SCRIPT…``.

Each runs as the main program of a process of its own, as from the command line, but one that has
torch already: importing it, and what optimizers import, takes longer than what they do.
"""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from pathlib import Path

SLOW = Path(__file__).resolve().parents[2] / "examples" / "slow"


def run(log: Path, script: str) -> None:
    """Run a script in a child and wait for it. Raises SystemExit if it fails."""
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
