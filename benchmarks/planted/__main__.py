"""Record programs with planted faults, or compare the advice with what their removal gained."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.pairs.record import BOTH, ROOT, record
from benchmarks.planted import table


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted", description=__doc__)
    parser.add_argument("command", choices=["record", "table"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="record faults with this in their name")
    parser.add_argument("--rounds", type=int, default=15, help="series of steps for each form")
    parser.add_argument("--recordings", type=int, default=3, help="recordings of each form")
    options = parser.parse_args()
    if options.command == "table":
        print(table.report(options.folder))
        return
    sys.path.append(str(ROOT / "examples" / "refdevice"))
    # These need torch and the reference device.
    from benchmarks.planted import device_faults, host_faults

    modules = [
        (module.__name__, [pair for pair in module.PAIRS if options.only in pair.name])
        for module in (host_faults, device_faults)
    ]
    record(modules, options.folder, options.rounds, options.recordings, BOTH)


if __name__ == "__main__":
    main()
