"""Check for steps that overlap, repeat a number, or were cut off."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.inference.quality.check_subject import MOST_EXAMPLES, Subject, microseconds
from tb_privateuse1.trace.findings import LONGEST_INLINE, Finding


def check(subject: Subject) -> Iterator[Finding]:
    """Yield findings about the host's ranges of steps; windows cannot overlap by definition."""
    trace = subject.trace
    steps = trace.steps

    def named(rows: list[int]) -> str:
        names = [shorten(trace.text(steps.name[r]), LONGEST_INLINE) for r in rows[:MOST_EXAMPLES]]
        return ", ".join(names) + (", …" if len(rows) > MOST_EXAMPLES else "")

    if len(steps) > 1:
        reach = np.maximum.accumulate(steps.host_end_ns)[:-1]
        common = reach - steps.host_start_ns[1:]
        rows = np.flatnonzero(common > subject.tolerance_ns) + 1
        if len(rows):
            message = say(
                "{count:,} of {total:,} steps start before the one before has ended, by up to "
                "{time}: {steps}.",
                count=len(rows),
                total=len(steps),
                time=microseconds(int(common.max())),
                steps=named(rows.tolist()),
            )
            hint = say(
                "What both cover counts in the earlier one. Do two threads call prof.step()?"
            )
            yield Finding("overlapping_steps", message, hint, len(rows), affects=("steps",))
        _, first = np.unique(steps.name, return_index=True)
        repeated = np.ones(len(steps), np.bool_)
        repeated[first] = False
        again = np.flatnonzero(repeated)
        if len(again):
            message = say(
                "{count:,} steps have the number of an earlier one: {steps}.",
                count=len(again),
                steps=named(again.tolist()),
            )
            hint = say("Chosen by number, the first is shown.")
            yield Finding("repeated_steps", message, hint, len(again), affects=("steps",))
    cut = np.flatnonzero(steps.incomplete & (steps.end_ns > 0))
    if len(cut):
        message = say(
            "{count:,} of {total:,} steps are incomplete: {steps}.",
            count=len(cut),
            total=len(steps),
            steps=named(cut.tolist()),
        )
        hint = say("They are shown, but left out of averages. Ask the profiler for one more step.")
        yield Finding("incomplete_steps", message, hint, len(cut), "info", ("steps",))
    primed = np.flatnonzero(steps.primed)
    if len(primed):
        message = say(
            "{steps}: the capture kept the device busy first (prime_ms), so that the durations "
            "of kernels show.",
            steps=named(primed.tolist()),
        )
        hint = say(
            "Kernels started later than they would have. The step is left out of averages, and "
            "the work that only kept the device busy out of all figures."
        )
        yield Finding("step_primed", message, hint, len(primed), "info", ("steps", "totals"))
