"""Check texts in Chinese: each translation is Chinese, whole, and has no English in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import tb_privateuse1
from tb_privateuse1.i18n import Text, catalog, render

RULES = Path(tb_privateuse1.__file__).parent / "i18n" / "zh" / "rules"

LETTERS = re.compile("[\u4e00-\u9fff]")
_LEFT = re.compile(r"\{[a-z_]*[:}]")
_CODE = re.compile(r"`[^`]*`")
_ENGLISH = re.compile(r"\b(the|of|and|are|is|while|with)\b")
"""Words that no name has: where one stands, a piece of a sentence is English."""


def is_translated(text: str) -> bool:
    """Return whether a text and all texts in it have a translation; True for plain strings."""
    if not isinstance(text, Text):
        return True
    parts = (value for value in text.values.values() if isinstance(value, str))
    return text.template in catalog("zh") and all(map(is_translated, parts))


def check(texts: Iterable[str | None]) -> None:
    """Raise AssertionError for a plain string or a bad translation; a missing one is no error."""
    for text in filter(None, texts):
        if not is_translated(text):
            continue
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
