"""Order the recorded counters by series and time, and name their processes."""

from __future__ import annotations

from collections import Counter

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.readers.raw import Counters, Raw


def recorded_counters(raw: Raw, strings: Strings, start_ns: int) -> Counters:
    """Return the counters with times in ns since ``start_ns`` on the file's clock.

    Of several values at one time, the last one in the file holds.
    """
    series, samples = raw.counters.series, raw.counters.samples
    if not len(samples):
        return Counters()
    names = _process_names(raw)
    process = [
        strings.id(names.get(strings.all[pid], strings.all[pid])) for pid in series.process.tolist()
    ]
    order = np.lexsort((samples.event, samples.ts_ns, samples.series))
    ordered = samples.take(order)
    same = (np.diff(ordered.series) == 0) & (np.diff(ordered.ts_ns) == 0)
    ordered = ordered.take(np.append(~same, True))
    return Counters(
        replace(series, process=np.array(process, np.int32)),
        replace(ordered, ts_ns=ordered.ts_ns - start_ns),
    )


def _process_names(raw: Raw) -> dict[str, str]:
    """Return the processes' names by pid, with the pid where several have the same name.

    Kineto names the process of each device as the program, ``python``.
    """
    processes = Counter(raw.process_names.values())
    return {
        pid: name if processes[name] == 1 else f"{name} {pid}"
        for pid, name in raw.process_names.items()
    }
