"""Tell torch's operators from other NVTX ranges, and read the shapes in their names.

``torch.autograd.profiler.emit_nvtx`` writes an operator's name, sequence number, own number, sizes
of inputs and the numbers of what made them into the name of a range (torch, ``getNvtxStr`` in
torch/csrc/profiler/util.cpp): ``aten::mm, seq = 7, op_id = 12, sizes = [[2, 3], [3, 4]]``.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from tb_privateuse1.readers.sqlite.columns import Strings
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64, Bools

_ARGUMENTS = re.compile(
    r"(?:, seq = (?P<sequence>[0-9]{1,18}))?(?:, op_id = [0-9]+)?"
    r"(?:, sizes = (?P<sizes>\[[][0-9, -]*\]))?(?:, input_op_ids = \[.*)?$",
    re.DOTALL,
)
_NAMESPACE = re.compile(r"^\w+(?:::\w+)+")
_LONGEST = 1 << 20


class RangeNames:
    """The names of ranges while they are read, one number for each distinct text."""

    def __init__(self, strings: Strings) -> None:
        self._strings = strings
        self._known: dict[str, int] = {}
        self._rows: list[tuple[int, int, int, bool]] = []

    def number(self, text: str) -> int:
        """Return the number of a text."""
        known = self._known.setdefault(text, len(self._rows))
        if known == len(self._rows):
            self._rows.append(self._parse(text))
        return known

    def columns(self, numbers: I64) -> tuple[I32, I64, I32, Bools]:
        """Return each range's name, sequence number, sizes as JSON, and whether it is an operator.

        A number of ``NONE`` is a range without a name.
        """
        rows = [*self._rows, (self._strings.index(""), NONE, NONE, False)]
        table: Any = np.array(rows, np.int64).reshape(-1, 4)[numbers]
        name, sequence, sizes, operator = table.T
        return name.astype(np.int32), sequence, sizes.astype(np.int32), operator.astype(np.bool_)

    def _parse(self, text: str) -> tuple[int, int, int, bool]:
        start = text.find(", ", 0, _LONGEST)
        found = None
        while found is None and start >= 0:
            found = _ARGUMENTS.match(text, start)
            start = text.find(", ", start + 2, _LONGEST)
        name = text[: found.start()] if found else text
        sequence = int(found["sequence"]) if found and found["sequence"] else NONE
        sizes = _sizes(found["sizes"]) if found and found["sizes"] else ""
        operator = sequence >= 0 or bool(sizes) or _NAMESPACE.match(name) is not None
        shapes = self._strings.index(sizes) if sizes else NONE
        return self._strings.index(name), sequence, shapes, operator


def _sizes(text: str) -> str:
    """Return sizes as torch's traces have them; empty if they are no lists of numbers."""
    try:
        return json.dumps(json.loads(text), separators=(",", ":"))
    except (ValueError, RecursionError):
        return ""
