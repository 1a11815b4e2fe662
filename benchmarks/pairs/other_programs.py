"""Compare the what-if with programs that others measured with a fault and without it.

    python -m benchmarks.pairs.other_programs FOLDER

Each folder of ``FOLDER`` has ``fault/``, a recording, and ``measured.json``: both steps without a
profiler, and the gain as a share of the faulty one. A fix is said as a change where it is one: what
it removes, by the calls that the recording of the fixed program no longer has.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.pairs.pair import is_held
from benchmarks.pairs.prediction import ask, gains, load, net_step_ns
from benchmarks.pairs.table import Gain, median_error, yes

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
    found = {name: row(folder / name, changes) for name, changes in CHANGES.items()}
    print(
        "| program | change | real gain | predicted gain | inside | error | share inside | held |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, (gain, share) in found.items():
        print(
            f"| {name} | {', '.join(f'`{one}`' for one in CHANGES[name])} "
            f"| {gain.real:.2f} ms, {share.real:.1%} "
            f"| {gain.predicted:.2f} ms ({gain.low:.2f} to {gain.high:.2f}), {share.predicted:.1%} "
            f"| {yes(gain.inside)} | {gain.error:.0%} | {yes(share.inside)} "
            f"| {'held' if is_held(name) else ''} |"
        )
    for unit, place in (("ms", 0), ("shares", 1)):
        gains_ = [each[place] for each in found.values()]
        print(
            f"\nIn {unit}: {sum(one.inside for one in gains_)} of {len(gains_)} inside, "
            f"median error {median_error(gains_):.0%}, median width "
            f"{statistics.median(one.width for one in gains_):.0%}"
        )


def row(folder: Path, changes: Sequence[str]) -> tuple[Gain, Gain]:
    """Return the gain of a program in ms, and as a share of a step without the profiler."""
    (path,) = (folder / "fault").glob("*.pt.trace.json.gz")
    real = json.loads((folder / "measured.json").read_text())
    trace = load(path)
    predicted = gains(ask(trace, changes))
    whole = net_step_ns(trace)
    return (
        Gain(real["fault_ms"] - real["fixed_ms"], *(each / 1e6 for each in predicted)),
        Gain(real["gain_share"], *(each / whole for each in predicted)),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
