"""Find proof that a program with host events alone ran its operators on an accelerator.

Its operators return before their work is done, so that their times are none of computation.
A list of devices is no proof: a program on the host of a machine with devices has it, too.
"""

from __future__ import annotations

import re

from tb_privateuse1 import vendors
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.findings import LONGEST_INLINE
from tb_privateuse1.trace.groupby import distinct_values
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.vendors import device_types

_OPERATORS = re.compile(
    rf"^(aten::_?({vendors.words('operator_prefixes', ())})_(?!is_acceptable)"
    rf"|({vendors.words('communication_prefixes', ())}):"
    r"|aten::(_flash|_efficient)_attention_(forward|backward)$"
    r"|aten::record_stream$)"
)
"""Operators that torch has for a device alone (aten/src/ATen/native/native_functions.yaml). Whether
cuDNN would accept an input, torch asks on a processor, too."""

_NAMES = "|".join(sorted(re.escape(vendor.name) for vendor in vendors.VENDORS))
_FRAMES = re.compile(
    r"^(torch/(?!cpu/)\w+/(__init__|streams)\.py\(\d+\): "
    rf"(current_stream|wait_stream|wait_event|record_event)$|<built-in method ({_NAMES}) of )"
)
"""Functions for work on a device. torch asks whether there is a device, and synchronizes it at the
profiler's end, in any program."""


def proof(raw: Raw, trace: Trace) -> str | None:
    """Return words on an event that only work on an accelerator leaves; None without one."""
    for table, pattern in ((trace.ops, _OPERATORS), (trace.frames, _FRAMES)):
        for name in distinct_values(table.name).tolist():
            if pattern.search(text := trace.text(name)):
                return shorten(text, LONGEST_INLINE)
    types = distinct_values(raw.memory.id("device_type")).tolist()
    for number in types:
        if any(number in one.device_types for one in vendors.VENDORS):
            known = device_types.name(number, trace.vendor) or str(number)
            return say("memory of {device}", device=known)
    return None
