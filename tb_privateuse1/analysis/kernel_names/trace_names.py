"""Display names in a trace: of its strings that name kernels, and the search in both names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tb_privateuse1.analysis.kernel_names.readable_name import display_name
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.groupby import distinct_values
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools


class DisplayNames:
    """Display names of strings that name kernels, where they differ, by the strings' numbers.

    A name is read when it is asked for: a recording can have a million, a page shows few. No
    mapping, as the memory budget would read all names of one to know its size.
    """

    def __init__(self, strings: Sequence[str], kernels: I64) -> None:
        self._strings = strings
        self._is_kernel = mask_of(kernels, len(strings))

    def get(self, number: int) -> str | None:
        """Return the display name of a string of the trace, or None."""
        if number < 0 or not self._is_kernel[number]:
            return None
        full = self._strings[number]
        shown = display_name(full)
        return shown if shown != full else None

    def __contains__(self, number: int) -> bool:
        return self.get(number) is not None

    def items(self) -> Iterator[tuple[int, str]]:
        """Yield all numbers, in order, with their display names: this reads every name."""
        for number in np.flatnonzero(self._is_kernel).tolist():
            if (shown := self.get(number)) is not None:
                yield number, shown

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._is_kernel.nbytes


@memoize
def display_names(trace: Trace) -> DisplayNames:
    """Return the display names of the trace's strings that have another one, by their number."""
    return DisplayNames(trace.strings, distinct_values(trace.kernels.name))


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
