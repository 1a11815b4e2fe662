"""Read Chrome trace JSON as torch's Kineto and Python exporters write it, plain or packed.

Supported: an object with ``traceEvents``, a bare list or one event per line; events ``X``,
``B``/``E``, ``i`` (``[memory]``), ``s``/``f``, ``M``; numbers as numbers or strings; categories in
any spelling, which stays unchanged. Other phases are counted and reported, as are damage, repairs
and omissions (``problem_tally``). Format: the Chrome Trace Event Format; torch/csrc/profiler and
libkineto/src/output_json.cpp for the arguments.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tb_privateuse1.readers import companion_heads, other_files
from tb_privateuse1.readers.chrome import sniff
from tb_privateuse1.readers.reader import Reader
from tb_privateuse1.trace.registry import OnCall

if TYPE_CHECKING:
    from tb_privateuse1.readers.raw import Progress, Raw

__all__ = [
    "CHROME",
    "single_event",
]

_OWN_NAMES = re.compile(r"\.pt\.trace\.json$|^libkineto_.*\.json$", re.IGNORECASE)


def read(path: str, progress: Progress | None = None) -> Raw:
    """Read a trace as ``file_reading.read`` does."""
    from tb_privateuse1.readers.chrome import file_reading

    return file_reading.read(path, progress)


CHROME = Reader(
    name="chrome",
    suffixes=(".json",),
    sniff=sniff.sniff,
    last_info=sniff.last_info,
    own_names=_OWN_NAMES,
    beside=companion_heads.process_of,
    joined=OnCall("tb_privateuse1.readers.chrome.joined_processes", "labels_in"),
    others=other_files.KINDS,
    add=OnCall("tb_privateuse1.readers.companions", "add"),
    affects=("operators",),
    read=read,
    read_parallel=OnCall("tb_privateuse1.readers.chrome.parallel_reading", "read_parallel"),
    record=OnCall("tb_privateuse1.readers.chrome.single_event", "read_event"),
    verbatim=OnCall("tb_privateuse1.readers.chrome.verbatim", "Verbatim"),
)
