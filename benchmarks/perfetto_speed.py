"""How fast a trace of Perfetto is read, beside the same recording as Chrome trace JSON.

``python -m benchmarks.perfetto_speed [--events 1e5,1e6]``

The JSON is a real trace repeated (``read_traces``), or ``--trace``; the other is our export of it.
Each is read in a process of its own; ``us`` is user and system time of the reader per event of its
columns, the least of ``--repeat`` runs, without imports; ``peak`` is the process's largest resident
size. ``ratio`` is Perfetto's time per event over that of the JSON.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.format_speed import best
from benchmarks.read_traces import write
from tb_privateuse1 import inference, readers
from tb_privateuse1.export import perfetto


def main() -> int:
    """Print a row of Markdown for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", default="1e5,1e6")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--trace", help="a trace file instead")
    arguments = parser.parse_args()
    print("| form | MB | events | us per event | peak MB | ratio |")
    print("|---|---|---|---|---|---|")
    for count in arguments.events.split(",") if not arguments.trace else ["0"]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(arguments.trace or Path(folder, "a.pt.trace.json"))
            if not arguments.trace:
                write(path, events=int(float(count)))
            exported = Path(folder, "a.pftrace")
            trace = inference.build_trace(readers.read(str(path)), None)
            with exported.open("wb") as file:
                file.writelines(perfetto.write(trace))
            del trace
            forms = {"JSON": path, "Perfetto": exported}
            found = {form: best([each], arguments.repeat) for form, each in forms.items()}
            for form, run in found.items():
                size = forms[form].stat().st_size / 1e6
                print(
                    f"| {form} | {size:.1f} | {run['events']:,} | {run['us']:.2f} | "
                    f"{run['peak_bytes'] / 1e6:.0f} | {run['us'] / found['JSON']['us']:.2f} |"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
