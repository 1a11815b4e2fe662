"""Choose the ranges that a flame graph ignores: frames of libraries, and names by patterns.

The time of an ignored range stays with the nearest range around it that is shown.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators.library_frames import is_library
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I8, I32, Bools


class Ignored(Struct, frozen=True):
    """The ranges without nodes of their own."""

    libraries: bool = False
    """Python frames of libraries (``library_frames.is_library``)."""
    patterns: tuple[str, ...] = ()
    """Parts of names, in lower or upper case; ``*`` is any text."""

    def __bool__(self) -> bool:
        return self.libraries or bool(self.patterns)


def parse_patterns(text: str | None) -> tuple[str, ...]:
    r"""Return the patterns of a text, separated by ``;`` (in a pattern written ``\;``)."""
    parts = [part.strip() for part in call_tree.split_path(text or "")]
    return tuple(part for part in parts if part)


def ignored_rows(trace: Trace, ignored: Ignored, name: I32, kind: I8, frame_kind: int) -> Bools:
    """Return which ranges are ignored; ``name`` and ``kind`` are theirs.

    Only ranges of ``frame_kind`` are frames of libraries. Steps are never asked about.
    """
    if not ignored or not len(name):
        return np.zeros(len(name), np.bool_)
    framed = kind == frame_kind
    by_pattern, by_library = np.zeros((2, len(trace.strings)), np.bool_)
    found = _pattern(ignored.patterns)
    for i in np.flatnonzero(np.bincount(name, minlength=len(trace.strings))).tolist():
        text = trace.text(i)
        by_pattern[i] = found is not None and found.search(text) is not None
        by_library[i] = ignored.libraries and is_library(text)
    rows: Bools = by_pattern[name] | (framed & by_library[name])
    return rows


def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    # ``.*?`` between literal parts cannot backtrack beyond the length times the number of parts.
    each = (".*?".join(re.escape(part) for part in one.split("*")) for one in patterns)
    return re.compile("|".join(each), re.IGNORECASE | re.DOTALL)
