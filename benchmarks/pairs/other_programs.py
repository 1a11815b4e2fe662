"""Compare the what-if with programs that others measured with a fault and without it.

    python -m benchmarks.pairs.other_programs FOLDER

Each folder of ``FOLDER`` has ``fault/``, a recording, and ``measured.json``: the gain of the fix as
a share of the faulty step, without a profiler. A fix is said as a change where it is one: what it
removes, by the calls that the recording of the fixed program no longer has.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.pairs.prediction import ask, gains, load

CHANGES: dict[str, tuple[str, ...]] = {
    "checkpoint": ("function:progs.py(234): hook=0",),
    "ema": ("aten::mul=0", "aten::add=0", "aten::to=0.34", "aten::detach=0.33"),
    "float64": ("function:nn.Module: Sequential_0=0.5",),
    "kv_cat": ("aten::cat=0",),
    "layout": ("aten::clone=0",),
    "mask_each": ("function:progs.py(19): build_mask=0",),
    "py_metrics": ("aten::unbind=0", "aten::item=0"),
    "r_validation": ("function:progs_ref.py(46): post=0",),
    "to_copies": ("aten::to=0.05", "ToCopyBackward0=0"),
    "validation": ("function:progs.py(224): hook=0",),
}
"""``float64``: half the bytes of each number. Of ``ema`` and ``to_copies`` some calls remain."""

NOT_SAID = ("frozen_grad", "r_float64", "seq_loop")
"""What these fixes remove has no name of its own in the recording."""


def main(folder: Path) -> None:
    """Print a row per program, and the rates."""
    inside, errors = [], []
    print("| program | change | real gain | predicted gain | inside | error |")
    print("|---|---|---|---|---|---|")
    for name, changes in CHANGES.items():
        (path,) = (folder / name / "fault").glob("*.pt.trace.json.gz")
        real = json.loads((folder / name / "measured.json").read_text())["gain_share"]
        answer = ask(load(path), changes)
        assert answer.measured_ns is not None
        gain, low, high = (each / answer.measured_ns for each in gains(answer))
        inside.append(low <= real <= high)
        errors.append(abs(gain - real) / real)
        print(
            f"| {name} | {', '.join(f'`{one}`' for one in changes)} | {real:.1%} "
            f"| {gain:.1%} ({low:.1%} to {high:.1%}) | {'yes' if inside[-1] else 'no'} "
            f"| {errors[-1]:.0%} |"
        )
    print(f"\n{sum(inside)} of {len(inside)} inside, median error {np.median(errors):.0%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
