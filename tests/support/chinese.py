"""What must hold of every text in Chinese: that it is Chinese, whole, and without English in it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tb_privateuse1.i18n import render

LETTERS = re.compile("[\u4e00-\u9fff]")
_LEFT = re.compile(r"\{[a-z_]*[:}]")
_CODE = re.compile(r"`[^`]*`")
_ENGLISH = re.compile(r"\b(the|of|and|are|is|while|with)\b")
"""Words that no name has: where one stands, a piece of a sentence is English."""


def check(texts: Iterable[str | None]) -> None:
    """All of these, as far as there are any."""
    for text in filter(None, texts):
        told = render(text, "zh")
        assert LETTERS.search(told), text
        assert not _LEFT.search(told), told
        assert not _ENGLISH.search(_CODE.sub("", told)), told
