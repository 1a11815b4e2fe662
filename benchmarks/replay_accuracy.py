"""How well the replay fits recordings: ``python -m benchmarks.replay_accuracy FOLDER…``.

For each trace below the folders: the error of the replay without delays, and the share of the
critical path by class. A third of the traces, by a hash of their names, is for the last check of a
change only: ``--aside`` prints these instead of the others.
"""

from __future__ import annotations

import sys
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tb_privateuse1 import inference
from tb_privateuse1.analysis.account.classes import NAMES
from tb_privateuse1.analysis.recording.judged_part import judged_part
from tb_privateuse1.analysis.simulation import baseline, critical_path, dependency_graph
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.trace.model import Trace

_LEAST = 0.01
"""Shares of the path below this are not printed."""


@dataclass(frozen=True)
class Fit:
    """Of one trace: the replay's error, and the share of the critical path by class."""

    name: str
    step_ns: float
    error: float
    worst_step: float
    shares: dict[str, float]
    seconds: float


def is_aside(path: Path) -> bool:
    """Return whether a trace is for the last check only."""
    return zlib.crc32(path.parent.name.encode()) % 3 == 0


def read(path: Path) -> Trace:
    """Return the trace of a file and of the sidecar beside it."""
    beside = Path(str(path).replace(".pt.trace.", ".kernel_event."))
    has_sidecar = beside != path and beside.exists()
    sidecar = readers_sidecar.read_sidecar(str(beside)) if has_sidecar else None
    return inference.build_trace(
        chrome.read(str(path)), sidecar, worker=path.name, files=(path.name,)
    )


def measure(name: str, trace: Trace) -> Fit | None:
    """Return the fit of one trace; None without steps."""
    began_s = time.perf_counter()
    graph = dependency_graph.build_graph(trace)
    path = critical_path.find_critical_path(trace, graph)
    base = baseline.replay_baseline(trace, graph)
    seconds = time.perf_counter() - began_s
    rows = judged_part(trace).steps
    held, bare = base.held[rows], base.bare[rows]
    if not len(rows) or not held.sum():
        return None
    own = path.take(np.isin(path.step, rows))
    spent = own.end_ns - own.start_ns
    total = max(int(spent.sum()), 1)
    shares: dict[str, float] = {
        name: int(spent[own.time_class == i].sum()) / total for i, name in enumerate(NAMES)
    }
    worst = (bare - held) / np.maximum(held, 1)
    return Fit(
        name=name,
        step_ns=float(held.mean()),
        error=float(bare.sum() / held.sum()) - 1,
        worst_step=float(worst[np.argmax(np.abs(worst))]),
        shares=shares,
        seconds=seconds,
    )


def show(fit: Fit) -> str:
    """Return a row of the table."""
    shares = sorted(fit.shares.items(), key=lambda item: -item[1])
    causes = ", ".join(f"{cause} {share:.1%}" for cause, share in shares if share >= _LEAST)
    return (
        f"{fit.name:44} {fit.step_ns / 1e6:9.2f} ms {fit.error:+8.2%} {fit.worst_step:+8.2%} "
        f"{fit.seconds:5.1f} s  {causes}"
    )


def main(words: list[str]) -> None:
    """Print a row per trace."""
    aside, folders = "--aside" in words, [word for word in words if not word.startswith("--")]
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.pt.trace.json*")):
            if is_aside(path) != aside:
                continue
            fit = measure(str(path.parent.relative_to(folder)), read(path))
            if fit is not None:
                print(show(fit), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
