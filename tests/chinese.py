"""What must hold of every text in Chinese: that it is Chinese, whole, and without English in it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tb_privateuse1.texts import render

LETTERS = re.compile("[\u4e00-\u9fff]")
_LEFT = re.compile(r"\{[a-z_]*[:}]")
_CODE = re.compile(r"`[^`]*`")
_ENGLISH = re.compile(r"\b(the|of|and|are|is|while|with)\b")
"""Words that stand in names of nothing: where one is, a piece of a sentence is English."""

QUOTING = ("coarse_events", "no_device_times")
"""Rules whose explanation is what was found out about the data, which has tests of its own."""


def check(texts: Iterable[str | None], whole: bool = True) -> None:
    """``whole`` says that nothing in them may be English."""
    for text in filter(None, texts):
        told = render(text, "zh")
        assert LETTERS.search(told), text
        assert not _LEFT.search(told), told
        assert not (whole and _ENGLISH.search(_CODE.sub("", told))), told
