"""Translate texts of the server: English templates in the code, other languages in catalogs.

A catalog maps English templates to a language's own: ``zh/<part>.toml``. A ``Text`` is an ordinary
``str`` in English, so the command line, files and notebooks need no translation. ``render``
translates it when a result becomes JSON (``encoding.encode``).
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = [
    "LANGUAGES",
    "Text",
    "all_languages",
    "fill",
    "join_list",
    "join_sentences",
    "plural",
    "say",
    "units",
    "untranslated",
]

LANGUAGES = ("en", "zh")
"""The first one is the language of the templates."""


class Text(str):
    """An English text that has its template and values."""

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, Any]

    def __new__(cls, english: str, template: str, values: Mapping[str, Any]) -> Text:
        """``english`` is the template, formatted with the values."""
        text = super().__new__(cls, english)
        text.template, text.values = template, values
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return Text, (str(self), self.template, self.values)


def say(template: str, **values: Any) -> Text:
    """Build a text: the template with its values in the syntax of ``str.format``.

    A value may be a Text itself. Without values, braces mean nothing. Callers write ``template``
    as a literal, because ``untranslated`` reads the templates from the source.
    """
    text = Text(template, template, {})
    return fill(text, **values) if values else text


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold: numpy's numbers as Python's, other objects as text."""
    if isinstance(value, str | int | float):
        return value
    return value.item() if hasattr(value, "item") else str(value)


def plural(count: int, noun: str) -> Text:
    """Build the text of a count: ``1 copy``, ``2,000 steps``; its template is in the plural."""
    template = many(noun)
    values = {"count": count}
    return Text(f"1 {noun}" if count == 1 else template.format_map(values), template, values)


def many(noun: str) -> str:
    """Return the template of a noun's count: ``{count:,} copies``."""
    return f"{{count:,}} {noun[:-1]}ies" if noun.endswith("y") else f"{{count:,}} {noun}s"


def join_list(items: Iterable[str]) -> str:
    """Build the text ``a, b, c``."""
    text = ""
    for item in items:
        text = say("{first}, {next}", first=text, next=item) if text else item
    return text


def join_sentences(items: Iterable[str]) -> str:
    """Build the text ``A. B.``; skips empty sentences."""
    text = ""
    for item in filter(None, items):
        text = say("{first} {next}", first=text, next=item) if text else item
    return text


def fill(template: Text, **values: Any) -> Text:
    """Build a text from a template that ``say`` made without values."""
    stored = {name: _plain(value) for name, value in values.items()}
    return Text(template.template.format_map(values), template.template, stored)


def replace_text(text: str, old: str, new: str) -> str:
    """Return ``text.replace(old, new)``; a Text stays one, with replaced values."""
    if not isinstance(text, Text):
        return text.replace(old, new)
    values = {
        name: replace_text(value, old, new) if isinstance(value, str) else value
        for name, value in text.values.items()
    }
    return Text(str(text).replace(old, new), text.template, values)


def render(text: str, language: str) -> str:
    """Return a text in a language, in English if the translation is missing."""
    if not isinstance(text, Text) or language == LANGUAGES[0]:
        return str(text)
    template = catalog(language).get(text.template)
    if template is None:
        return str(text)
    if not text.values:
        return template
    values = {
        name: render(value, language) if isinstance(value, str) else value
        for name, value in text.values.items()
    }
    return template.format_map(values)


def all_languages(text: str) -> frozenset[str]:
    """Return a text in every language, since a page sends names back in its own."""
    if not isinstance(text, Text):
        return frozenset((text,))
    return frozenset(render(text, language) for language in LANGUAGES)


@functools.cache
def catalog(language: str) -> dict[str, str]:
    """Read the translations of a language, by English template."""
    translations: dict[str, str] = {}
    for file in sorted((Path(__file__).parent / language).rglob("*.toml")):
        translations |= tomllib.loads(file.read_text("utf-8"))
    return translations


def pack(text: Any) -> Any:
    """Return a text as plain JSON for ``unpack``; other values unchanged."""
    if not isinstance(text, Text):
        return text
    values = {name: pack(value) for name, value in text.values.items()}
    return {"english": str(text), "template": text.template, "values": values}


def unpack(stored: Any) -> Any:
    """Build the text from the result of ``pack``; returns other values unchanged."""
    if not isinstance(stored, Mapping):
        return stored
    values = {name: unpack(value) for name, value in stored["values"].items()}
    return Text(stored["english"], stored["template"], values)
