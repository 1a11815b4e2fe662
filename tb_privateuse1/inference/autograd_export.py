"""Read torch's own export of its events (``EventList.export_chrome_trace``) by what it is.

torch/autograd/profiler_util.py writes ranges without a category in two processes: operators in
"CPU functions", kernels in "CUDA functions", whose threads are the devices. Arrows lead from an
operator to its kernels.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.readers.raw import MISSING_OF, Group, Raw
from tb_privateuse1.trace.groupby import named_rows
from tb_privateuse1.trace.model import NONE

_HOST = re.compile(r"^CPU functions$")
_DEVICE = re.compile(r"^(?!CPU )\w+ functions$")


def name_categories(raw: Raw) -> Raw:
    """Return the columns in which the events of such an export have torch's categories."""
    rest = raw.groups.get("")
    if rest is None or not len(rest):
        return raw
    pid = raw.threads.pid[rest.thread]
    of_host, of_device = (named_rows(raw.strings, pid, one.search) for one in (_HOST, _DEVICE))
    if not of_host.any():
        return raw
    groups = {category: group for category, group in raw.groups.items() if category}
    others = ~(of_host | of_device)
    for category, rows in (("cpu_op", of_host), ("kernel", of_device), ("", others)):
        if rows.any():
            own = rest.take(rows)
            own = _on_device(raw, own) if category == "kernel" else own
            before = [groups[category]] if category in groups else []
            groups[category] = Group.join([*before, own], MISSING_OF)
    return replace(raw, groups=groups)


def _on_device(raw: Raw, kernels: Group) -> Group:
    """Return kernels with the device that their thread is, and no stream, which is not written."""
    number = [int(text) if text.isdigit() else NONE for text in raw.strings]
    device = np.array([number[tid] if tid >= 0 else NONE for tid in raw.threads.tid.tolist()])
    ids = {"device": device[kernels.thread], "stream": np.zeros(len(kernels), np.int64)}
    return replace(kernels, ids={**kernels.ids, **ids})
