"""Record programs with planted faults, or compare the advice with what their removal gained."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from benchmarks.pairs.record import BOTH, ROOT, record
from benchmarks.planted import table, value_table

MODULES = {
    "planted": ("host_faults", "device_faults", "held_faults"),
    "later": ("later_on_host", "later_on_device", "later_on_cpu"),
    "blind": ("blind_on_host", "blind_on_device", "blind_on_cpu"),
    "beside": ("beside_on_host", "beside_on_device"),
    "further": ("further_on_host", "further_on_device"),
    "loops": ("loops_on_host",),
    "parts": ("parts_and_padding",),
    "rows": ("rows_through_layers",),
    "ordinary": ("ordinary_on_host", "ordinary_on_device"),
    "afterwards": ("afterwards_on_host", "afterwards_on_device"),
    "unseen-two": (
        "unseen_two_on_host",
        "unseen_two_on_cpu",
        "unseen_two_on_device",
        "unseen_two_beside",
    ),
    "common": ("common_on_host",),
    "first": ("first_faults",),
    "work": ("work_faults",),
    "needless": ("needless_work",),
    "unseen-one": ("unseen_one_on_host", "unseen_one_on_cpu", "unseen_one_on_device"),
    "unseen-three": ("unseen_three_on_host", "unseen_three_on_cpu", "unseen_three_on_device"),
    "unseen-three-right": ("unseen_three_right",),
    "unseen-four": ("unseen_four_on_host", "unseen_four_on_cpu", "unseen_four_on_device"),
    "unseen-four-right": ("unseen_four_right",),
    "unseen-five": ("unseen_five_on_host", "unseen_five_on_cpu", "unseen_five_on_device"),
    "unseen-five-right": ("unseen_five_right",),
    "roofs": ("roofs_on_host",),
    "common-on-device": ("common_on_device",),
    "blind-tuned": ("blind_tuned",),
    "tuned": ("tuned_on_host", "tuned_on_device"),
}
"""By ``--programs``, the modules that have them."""

REPORTS = {
    "planted": table.report,
    "later": value_table.report,
    "blind": value_table.report,
    "beside": value_table.report,
    "further": value_table.report,
    "loops": value_table.report,
    "parts": value_table.report,
    "rows": value_table.report,
    "ordinary": value_table.report,
    "afterwards": value_table.report,
    "unseen-two": value_table.report,
    "common": value_table.report,
    "first": table.report,
    "work": value_table.report,
    "needless": table.report,
    "unseen-one": value_table.report,
    "unseen-three": value_table.report,
    "unseen-three-right": table.tuned_report,
    "unseen-four": value_table.report,
    "unseen-four-right": table.tuned_report,
    "unseen-five": value_table.report,
    "unseen-five-right": table.tuned_report,
    "roofs": value_table.report,
    "common-on-device": value_table.report,
    "blind-tuned": table.tuned_report,
    "tuned": table.tuned_report,
}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted", description=__doc__)
    parser.add_argument("command", choices=["record", "table"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--programs", choices=MODULES, default="planted")
    parser.add_argument("--only", default="", help="record programs with this in their name")
    parser.add_argument("--rounds", type=int, default=15, help="series of steps for each form")
    parser.add_argument("--recordings", type=int, default=3, help="recordings of each form")
    options = parser.parse_args()
    if options.command == "table":
        print(REPORTS[options.programs](options.folder))
        return
    # The modules need torch and the reference device.
    sys.path.append(str(ROOT / "examples" / "refdevice"))
    found = map(importlib.import_module, modules(options.programs))
    pairs = [
        (module.__name__, [pair for pair in module.PAIRS if options.only in pair.name])
        for module in found
    ]
    forms = BOTH[:1] if REPORTS[options.programs] is table.tuned_report else BOTH
    record(pairs, options.folder, options.rounds, options.recordings, forms)


def modules(programs: str) -> list[str]:
    """Return the full names of the modules of ``--programs``."""
    return [f"benchmarks.planted.{module}" for module in MODULES[programs]]


if __name__ == "__main__":
    main()
