"""Record pairs, or compare their predictions with the truth."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.pairs import table
from benchmarks.pairs.record import ROOT, record


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pairs", description=__doc__)
    parser.add_argument("command", choices=["record", "table"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="record pairs with this in their name")
    parser.add_argument("--rounds", type=int, default=25, help="series of steps for each form")
    parser.add_argument("--recordings", type=int, default=5, help="recordings of each form")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--write", type=Path, help="write the tables into this document")
    options = parser.parse_args()
    if options.command == "table":
        text = table.report(options.folder, markdown=options.markdown or bool(options.write))
        if options.write:
            table.write(text, options.write)
        else:
            print(text)
        return
    sys.path.append(str(ROOT / "examples" / "refdevice"))
    # These need torch and the reference device; the table does not.
    from benchmarks.pairs import device_programs, host_programs

    modules = [
        (module.__name__, [pair for pair in module.PAIRS if options.only in pair.name])
        for module in (host_programs, device_programs)
    ]
    record(modules, options.folder, options.rounds, options.recordings)


if __name__ == "__main__":
    main()
