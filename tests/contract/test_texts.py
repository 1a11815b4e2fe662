"""Texts in other languages: each translation says the same as the English and reaches the page."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
import string
import tomllib
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tb_privateuse1 import i18n
from tb_privateuse1.i18n import Text, join_list, plural, render, say
from tb_privateuse1.i18n.untranslated import templates
from tb_privateuse1.views.encoding import encode
from tests.support.said import bare, called, scoped, within
from tests.support.sources import PACKAGE

OTHERS = i18n.LANGUAGES[1:]
CHINESE = re.compile(r"[\u4e00-\u9fff]")

_RULE = ("title", "looks_for", "why", "fix", "threshold", "reference")
_TOLD = (1, 2, "message", "hint")
PROSE: dict[str, tuple[str | int, ...]] = {
    "Rule": _RULE,
    "RankRule": _RULE,
    "Found": ("title", "explanation", "how", "lacks"),
    "RankFound": ("title", "explanation", "how", "lacks"),
    "RankEvidence": (1, "note"),
    "Example": (5, "note"),
    "Finding": _TOLD,
    "TraceError": _TOLD,
    "RemoteError": _TOLD,
    "Problem": _TOLD,
    "_bad": (1,),
    "_unusable": _TOLD,
    "lack": _TOLD,
    "unreachable": (1,),
    "_Words": (0, 1, "message", "hint"),
    "Fact": (0, 1),
    "Constant": (6,),
    "Grounds": (1, "evidence"),
    "Kind": (2,),
    "Limit": (1, 2),
    "_limit": (1, 2),
    "Advice": (1, 2),
    "Curve": (0,),
}
"""The arguments that are prose, by the name of what is called."""

ENGLISH = {
    "cli/": "the command line is in English",
    "views/result.py": "of the command line and notebooks, which ask for a table as such",
}
"""Where errors are that no page can be told."""


def _fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


@pytest.mark.parametrize("language", OTHERS)
def test_no_translation_is_of_a_text_that_nothing_says(language: str) -> None:
    """A missing one is no error: ``make texts`` lists those."""
    assert sorted(i18n.catalog(language).keys() - templates().keys()) == []


@pytest.mark.parametrize("language", OTHERS)
def test_no_text_is_there_twice(language: str) -> None:
    seen: dict[str, str] = {}
    for file in (PACKAGE / "i18n" / language).rglob("*.toml"):
        for template in tomllib.loads(file.read_text("utf-8")):
            assert template not in seen, f"{template!r} is in {seen.get(template)} and {file.name}"
            seen[template] = file.name


def test_chinese_is_chinese_and_has_the_same_values() -> None:
    for template, told in i18n.catalog("zh").items():
        assert CHINESE.search(told) or not re.search(
            "[A-Za-z]{3}", re.sub("{.*?}", "", template)
        ), told
        if "{" in template and _formatted(template):
            assert _fields(told) == _fields(template), template


HAN = "[\u3400-\u9fff]"
FULL = "[\uff0c\u3002\uff1b\uff1a\uff1f\uff01\u3001\uff08\uff09]"
UNTIDY = re.compile(f"{HAN}[A-Za-z0-9%]|[A-Za-z0-9%]{HAN}|{HAN}[,;:!?]|{FULL} ")
CODE = re.compile(r"`[^`]*`|\w+\([^)]*\)")


def test_chinese_is_tidy() -> None:
    """A space between Chinese and Latin letters or figures, and punctuation of the full width."""
    told = i18n.catalog("zh").values()
    assert [text for text in told if UNTIDY.search(CODE.sub("\0", text))] == []


def _formatted(template: str) -> bool:
    """Whether it is said with values; one without may have braces of its own."""
    try:
        return bool(_fields(template))
    except ValueError:
        return False


@pytest.mark.long
def test_prose_is_said() -> None:
    """What a dataclass of texts is given is a Text: nothing reaches the page in English only."""
    wrong = []
    for place, call, scope in scoped():
        if place.startswith(tuple(ENGLISH)):
            continue
        for argument in PROSE.get(called(call), ()):
            if isinstance(argument, int):
                given = call.args[argument : argument + 1]
            else:
                given = [k.value for k in call.keywords if k.arg == argument]
            wrong += [f"{place}: {argument}" for g in given if bare(g, scope)]
    assert wrong == []


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("Finding('a', say('b'))", False),
        ("Finding('a', 'b')", True),
        ("Finding('a', say('b') + 'c')", True),
        ("Finding('a', hint=f'b')", True),
        ("def f():\n    m = say('b')\n    Finding('a', m)", False),
        ("def f():\n    m = 'b'\n    Finding('a', m)", True),
        ("def f():\n    m = say('b')\n    m += 'c'\n    Finding('a', m)", True),
        ("def f():\n    m, h = say('b'), 'c'\n    Finding('a', m, h)", True),
        ("M = 'b'\ndef f():\n    Finding('a', M)", True),
        ("M = 'b'\ndef f():\n    M = say('c')\n    Finding('a', M)", False),
        ("def f():\n    if m := 'b':\n        Finding('a', m)", True),
        ("Finding('a', ', '.join(b))", True),
        ("Finding('a', b.message)", False),
        ("Finding('a', b or 'c')", True),
        ("Finding('a', b[:5])", True),
        ("Finding('a', str(b).strip()[:5])", False),
    ],
)
def test_what_is_not_said_is_found(code: str, told: bool) -> None:
    found = [
        bare(given, scope)
        for call, scope in within(ast.parse(code), {})
        if called(call) == "Finding"
        for given in [*call.args[1:], *(k.value for k in call.keywords)]
    ]
    assert any(found) == told


def test_a_text_is_english_and_can_be_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        "Lost {share} in {copies}": "在{copies}中损失 {share}",
        "{count:,} copies": "{count:,} 次拷贝",
        "{first}, {next}": "{first}、{next}",
        "a {b} c": "甲 {b} 丙",
    }
    monkeypatch.setattr(i18n, "catalog", lambda language: known)
    text = say("Lost {share} in {copies}", share="{3} %", copies=plural(2000, "copy"))
    assert text == "Lost {3} % in 2,000 copies"
    assert render(text, "en") == "Lost {3} % in 2,000 copies"
    assert render(text, "zh") == "在2,000 次拷贝中损失 {3} %"
    assert render(plural(1, "copy"), "en") == "1 copy"
    assert render(plural(1, "copy"), "zh") == "1 次拷贝"
    assert render(say("a {b} c"), "zh") == "甲 {b} 丙"
    assert render(say("Unknown {x}", x=1), "zh") == "Unknown 1"
    assert render("plain", "zh") == "plain"
    both = join_list(["x", plural(2, "copy"), "z"])
    assert both == "x, 2 copies, z"
    assert render(both, "zh") == "x、2 次拷贝、z"


def _through_json(text: Text) -> Text:
    return i18n.unpack(json.loads(msgspec.json.encode(text, enc_hook=i18n.pack)))


@pytest.mark.parametrize("through", [pickle.dumps, copy.deepcopy, _through_json])
def test_a_text_survives(through: Callable[[Text], Any]) -> None:
    text = say("a {b}", b=plural(3, "copy"))
    same = through(text)
    same = pickle.loads(same) if isinstance(same, bytes) else same
    assert (same, same.template, same.values) == (text, "a {b}", {"b": "3 copies"})
    assert same.values["b"].template == "{count:,} copies"


def test_json_is_in_the_language_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(i18n, "catalog", lambda language: {"a {b}": "甲 {b}"})
    told = {"text": say("a {b}", b=1)}
    assert encode(told) == b'{"text":"a 1"}'
    assert encode(told, "zh") == '{"text":"甲 1"}'.encode()
