"""Print the share of lines that the unit tier runs, by room, and fail below a room's floor.

    python -m tests.support.room_coverage build/coverage.json

The file is coverage's JSON report. The floors are in pyproject.toml.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGE = "tb_privateuse1"


def rooms(report: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the numbers of covered lines and of all lines of each room."""
    covered: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for name, file in report["files"].items():
        _, room, *rest = Path(name).parts
        key = room if rest else "(root)"
        covered[key] += file["summary"]["covered_lines"]
        lines[key] += file["summary"]["num_statements"]
    return {key: (covered[key], lines[key]) for key in sorted(lines) if lines[key]}


def floors() -> dict[str, int]:
    """Return the least percentage of each room."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    result: dict[str, int] = content["tool"][PACKAGE]["coverage_floors"]
    return result


def main(path: str) -> int:
    """Print a table; 1 if a room is below its floor or has none."""
    least, failed = floors(), False
    print(f"{'room':12} {'lines':>6} {'covered':>8} {'floor':>6}")
    for room, (covered, lines) in rooms(json.loads(Path(path).read_text())).items():
        share = 100 * covered / lines
        below = share < least.get(room, 101)
        failed |= below
        print(f"{room:12} {lines:6} {share:7.1f}% {least.get(room, '-'):>5}%", "TOO LOW" * below)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
