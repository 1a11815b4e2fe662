"""Equal texts share a number."""

from __future__ import annotations

import msgspec
import pytest

from tb_privateuse1.readers.chrome.interning import JsonTexts, Strings
from tb_privateuse1.trace.model import NONE


@pytest.mark.parametrize("odd", [b"[7]", b'"a\0b"'])
def test_undecoded_values_are_numbered_by_their_meaning(odd: bytes) -> None:
    strings = Strings()
    texts = [b"[1, 2]", b"", odd, b"[1,2]"]
    numbers = list(JsonTexts(strings).numbers([msgspec.Raw(text) for text in texts]))
    assert numbers[0] == numbers[3] == strings["[1,2]"]
    assert numbers[1] == NONE
    assert len(numbers) == len(texts)
