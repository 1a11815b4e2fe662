"""What a scan lists, in short."""

from __future__ import annotations

from pathlib import Path

from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS


def layout(path: Path) -> dict[str, dict[int, list[str]]]:
    """Run -> rank -> labels of its spans."""
    found = catalog.scan(str(path), READERS).runs
    return {r.run: {w.rank: [s.label for s in w.spans] for w in r.workers} for r in found.runs}


def only_run(path: Path) -> catalog.Run:
    (run,) = catalog.scan(str(path), READERS).runs.runs
    return run


def ranks(path: Path) -> dict[str, tuple[int, str]]:
    return {w.worker: (w.rank, w.rank_source) for w in only_run(path).workers}


def codes(path: Path) -> list[str]:
    return [finding.code for finding in only_run(path).warnings]
