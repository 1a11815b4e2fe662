"""Almost JSON, as exporters and people write it, and what it means."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.readers.chrome import repair
from tb_privateuse1.readers.chrome.repair import repair_text


@pytest.mark.parametrize(
    ("text", "expected", "code"),
    [
        (b'{"a": NaN}', {"a": None}, "invalid_numbers"),
        (b'[NaN, -Infinity,N/A ,nan,-inf]', [None] * 5, "invalid_numbers"),
        (b'{"a": "NaN, N/A", "b": N/A}', {"a": "NaN, N/A", "b": None}, "invalid_numbers"),
        (b'["C:\\Users\\new"]', ["C:\\Users\new"], "invalid_strings"),
        (b'["a\\q"]', ["a\\q"], "invalid_strings"),
        (b'["\\u12"]', ["\\u12"], "invalid_strings"),
        (b'["\\ud800x"]', ["\ufffdx"], "invalid_strings"),
        (b'["\\ud83d\\ude00", "\\q"]', ["\U0001f600", "\\q"], "invalid_strings"),
        (b'["a\x01\n\tb"]', ["a\x01\n\tb"], "invalid_strings"),
        (b'["\xff\xfe", "\xc3\xa4"]', ["\ufffd\ufffd", "\u00e4"], "invalid_strings"),
        (b'[1, 2, ]', [1, 2], "trailing_commas"),
        (b'{"a": [1,],}', {"a": [1]}, "trailing_commas"),
    ],
)  # fmt: skip
def test_what_is_meant(text: bytes, expected: object, code: str) -> None:
    fixed, tally = repair_text(text)
    assert json.loads(fixed) == expected
    assert [f.code for f in tally.findings()] == [code]
    assert repair_text(fixed)[0] == fixed


@pytest.mark.long
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_sound_json_stays_as_it_is(value: object) -> None:
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "replace")
        fixed, tally = repair_text(text)
        assert fixed == text or "\\ud" in text.decode()
        assert fixed == text or tally.findings()


@given(st.binary())
def test_anything_else_stays_anything_else(text: bytes) -> None:
    fixed, _ = repair_text(text)
    assert repair_text(fixed)[0] == fixed or text.count(b'"') % 2 or b"\\" in text


def test_a_string_without_an_end_is_searched_once() -> None:
    """Not from each of its escaped quotes again."""
    text = b'{"name":x"' + b'\\"' * 1000
    assert [token.lastgroup for token in repair._TOKEN.finditer(text)] == ["string", "open"]
    assert repair.repair_text(text)[0] == text
