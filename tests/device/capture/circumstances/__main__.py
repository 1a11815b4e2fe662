"""Print the table of docs/internals/circumstances.md: torch, ours, and another checkout."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.device.capture.circumstances import CIRCUMSTANCES, Outcome, Runner


def _cell(outcome: Outcome) -> str:
    """Return exit code, traces and warnings for a table."""
    if outcome.code is None:
        return "hangs"
    end = {-11: "segmentation fault", -6: "abort"}.get(outcome.code, str(outcome.code))
    return ", ".join([end, f"{outcome.traces} + {outcome.sidecars}", *outcome.warnings])


def main() -> None:
    """Run all circumstances, or those whose names contain a text."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--old", type=Path, help="another checkout of this repository")
    parser.add_argument("--only", default="", help="a part of the names")
    options = parser.parse_args()
    checkouts = {"old": options.old} if options.old else {}
    variants = ["torch", *checkouts, "new"]
    print(f"| circumstance | {' | '.join(variants)} |")
    print("|---" * (len(variants) + 1) + "|")
    runner = Runner(checkouts)
    for one in CIRCUMSTANCES:
        if options.only not in one.name:
            continue
        cells = []
        for variant in variants:
            with tempfile.TemporaryDirectory() as folder:
                cells.append(_cell(runner.run(one, variant, Path(folder))))
        print(f"| {one.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
