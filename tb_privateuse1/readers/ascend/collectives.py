"""Elements, types and groups of the collectives of a recording, as torch writes them.

The tool counts a rank's own part (``count``): of a gather the input, of a reduce-scatter the
output. For kinds of other shapes the count does not say which.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.readers.ascend import metadata, schema
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.readers.sqlite.columns import Strings
from tb_privateuse1.readers.sqlite.database import ABSENT
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64, Bools
from tb_privateuse1.vendors.kernel_names import collective_kind

_EQUAL = ("all_reduce", "broadcast", "send", "recv", "send_recv")
"""Kinds whose input is as large as their output."""
_PROCESSES = ("Communication", "HCCL")
_GROUP = re.compile(r"^Group (.*?) ?Communication\s*$")


def elements(names: Strings, name: I32, count: I64, size: I64) -> tuple[I64, I64]:
    """Return the elements that each collective has as input and output, absent if not known.

    ``size`` is the number of ranks of its group, absent if not known.
    """

    def of(*kinds: str) -> Bools:
        return names.matching(name, lambda text: collective_kind(text) in kinds)

    gathers, scatters, equal = of("all_gather"), of("reduce_scatter"), of(*_EQUAL)
    valid = (count >= 0) & (count < 1 << 40)
    count = np.where(valid, count, 0)
    known = valid & (size > 0) & (size < 1 << 20)
    whole = np.where(known, count * np.where(known, size, 1), ABSENT)
    own = np.where(valid & (equal | known & (gathers | scatters)), count, ABSENT)
    return np.where(scatters, whole, own), np.where(gathers, whole, own)


def element_type(text: str) -> str:
    """Return torch's name of the library's type of elements; empty if it has none."""
    return schema.ELEMENTS.get(text.upper(), "")


def with_collectives(raw: Raw) -> Raw:
    """Return the raw columns of ``trace_view.json`` with what its collectives send."""
    group = raw.groups.get("")
    if group is None or "rank_elements" not in group.ids:
        return raw
    strings = Strings(raw.strings)
    pids = [pid for pid, name in raw.process_names.items() if name in _PROCESSES]
    index = [i for i, text in enumerate(raw.strings) if text in pids]
    count = group.id("rank_elements", ABSENT)
    mine = np.isin(raw.threads.pid, index)[group.thread] & (count != ABSENT)
    ranks = strings.convert(raw.threads.name, _group_name)[group.thread]
    sizes = metadata.group_sizes(raw.metadata)
    size = np.array([sizes.get(text, ABSENT) for text in strings.all] + [ABSENT], np.int64)[ranks]
    count, size = np.where(mine, count, ABSENT), np.where(mine, size, ABSENT)
    sent, received = elements(strings, group.name, count, size)
    ids = {**group.ids, "in_elements": sent, "out_elements": received, "group_size": size}
    texts = {
        **group.texts,
        "collective": np.where(mine, group.name, NONE).astype(np.int32),
        "process_group": np.where(mine, ranks, NONE).astype(np.int32),
        "element_type": strings.convert(group.text("rank_type"), element_type),
    }
    groups = {**raw.groups, "": replace(group, ids=ids, texts=texts)}
    return replace(raw, groups=groups, strings=tuple(strings.all))


def _group_name(thread: str) -> str:
    match = _GROUP.match(thread)
    return match[1] if match else ""
