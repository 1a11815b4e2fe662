"""Display names in a trace: of its strings that name kernels, and the search in both names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tb_privateuse1.analysis.kernel_names.readable_name import display_name
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import Bools


class DisplayNames(Mapping[int, str]):
    """Display names of strings that name kernels, where they differ, by the strings' numbers.

    A name is read when it is asked for: a recording can have a hundred thousand, a page shows few.
    """

    def __init__(self, strings: Sequence[str], kernels: frozenset[int]) -> None:
        self._strings = strings
        self._kernels = kernels

    def __getitem__(self, number: int) -> str:
        if number in self._kernels:
            full = self._strings[number]
            if (shown := display_name(full)) != full:
                return shown
        raise KeyError(number)

    def __iter__(self) -> Iterator[int]:
        return (number for number in sorted(self._kernels) if number in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@memoize
def display_names(trace: Trace) -> DisplayNames:
    """Return the display names of the trace's strings that have another one, by their number."""
    used = np.unique(trace.kernels.name)
    return DisplayNames(trace.strings, frozenset(used[used >= 0].tolist()))


def name_fields(full: str, *, kernel: bool) -> dict[str, Any]:
    """Return ``name`` and ``full_name`` of a row: of a kernel both, of others only the first."""
    shown = display_name(full) if kernel else full
    return {"name": shown, "full_name": full if shown != full else None}


def strings_with(trace: Trace, text: str) -> Bools:
    """Return which of the trace's strings have a text in themselves or in their display name.

    Upper and lower case are alike. One more row is for NONE, and has none.
    """
    wanted = text.casefold()
    plain = wanted.replace("×", "x")
    found = [i for i, string in enumerate(trace.strings) if wanted in string.casefold()]
    found += [
        i
        for i, shown in display_names(trace).items()
        if plain in shown.casefold().replace("×", "x")
    ]
    mask = np.zeros(len(trace.strings) + 1, np.bool_)
    mask[found] = True
    return mask
