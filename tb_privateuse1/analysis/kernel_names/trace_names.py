"""Display names in a trace: of its strings that name kernels, and the search in both names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tb_privateuse1.analysis.kernel_names.grammars import display_name
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import Bools


@memoize
def display_names(trace: Trace) -> Mapping[int, str]:
    """Return the display names of the trace's strings that have another one, by their number."""
    used = np.unique(trace.kernels.name)
    named = ((int(i), display_name(trace.text(i))) for i in used.tolist() if i >= 0)
    return {i: shown for i, shown in named if shown != trace.text(i)}


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
