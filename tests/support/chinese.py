"""What must hold of every text in Chinese: that it is Chinese, whole, and without English in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import tb_privateuse1
from tb_privateuse1.i18n import render

RULES = Path(tb_privateuse1.__file__).parent / "i18n" / "zh" / "rules"

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


def check_rule(name: str, texts: Iterable[str | None]) -> None:
    """Check a rule's texts once its Chinese exists: a maintainer may add that later.

    Until then only ``tests/contract/test_texts.py`` fails: it lists the missing texts.
    """
    if (RULES / f"{name}.toml").exists():
        check(texts)
