"""Say that the calls of a runtime are missing where those of its driver are recorded.

torch works through the runtime, and the profiler waits through it when it stops. A recording that
has the driver's calls alone was filtered, or its profiler left the runtime out.
"""

from __future__ import annotations

import re

from tb_privateuse1.i18n import say
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.findings import Figures, Finding

_CALLS = re.compile(r"_?(runtime|driver)$", re.IGNORECASE)


def findings(raw: Raw) -> tuple[Finding, ...]:
    """Return the finding of a recording that has calls of a driver, and none of the runtime."""
    count = {"runtime": 0, "driver": 0}
    for category, group in raw.groups.items():
        if match := _CALLS.search(category):
            count[match[1].lower()] += len(group)
    if count["runtime"] or not count["driver"]:
        return ()
    message = say(
        "{count:,} calls of the device's driver are recorded, and none of its runtime: waits and "
        "launches are missing.",
        count=count["driver"],
    )
    hint = say(
        "Was the file filtered by category? What the host waited for, and when the work ended, is "
        "not known."
    )
    affects: tuple[Figures, ...] = ("totals", "steps", "operators")
    return (Finding("missing_runtime_calls", message, hint, affects=affects),)
