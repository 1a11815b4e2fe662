"""What people read, in their language.

English stands where it is said, as a template with named values; every other language is a folder
of catalogues here, from that template to its own: ``zh/<part>.toml``. A ``Text`` is an ordinary
``str`` in English, so that the command line, files and notebooks need not know of this; it is put
into another language at the last moment, when a result becomes JSON (``query.encode``).
"""

from __future__ import annotations

import dataclasses
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
"""The first one is that of the templates."""


class Text(str):
    """English, with the template and the values that it was made of."""

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, Any]

    def __new__(cls, english: str, template: str, values: Mapping[str, Any]) -> Text:
        """``english`` is what the template says with these values."""
        made = super().__new__(cls, english)
        made.template, made.values = template, values
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Text, (str(self), self.template, self.values)


def say(template: str, **values: Any) -> Text:
    """A text in English: the template with its values, as ``str.format`` puts them in.

    A value may be a Text itself. Without values, braces mean nothing. ``template`` is always
    written out where this is called: the tests look for a translation of each.
    """
    text = Text(template, template, {})
    return fill(text, **values) if values else text


def _plain(value: Any) -> Any:
    """A value as it can be stored: numpy's numbers as Python's, others as they are told."""
    if isinstance(value, str | int | float):
        return value
    return value.item() if hasattr(value, "item") else str(value)


def plural(count: int, noun: str) -> Text:
    """``1 copy``, ``2,000 steps``; its template is ``{count:,} copies``."""
    template = many(noun)
    values = {"count": count}
    return Text(f"1 {noun}" if count == 1 else template.format_map(values), template, values)


def many(noun: str) -> str:
    """The template of a count of these."""
    return f"{{count:,}} {noun[:-1]}ies" if noun.endswith("y") else f"{{count:,}} {noun}s"


def join_list(items: Iterable[str]) -> str:
    """``a, b, c``."""
    told = ""
    for item in items:
        told = say("{first}, {next}", first=told, next=item) if told else item
    return told


def join_sentences(items: Iterable[str]) -> str:
    """``A. B.``: one after the other; empty ones are left out."""
    told = ""
    for item in filter(None, items):
        told = say("{first} {next}", first=told, next=item) if told else item
    return told


def fill(template: Text, **values: Any) -> Text:
    """A text that was said without its values, with them."""
    told = {name: _plain(value) for name, value in values.items()}
    return Text(template.template.format_map(values), template.template, told)


def replace_text(text: str, old: str, new: str) -> str:
    """``str.replace``; of a Text in its values, too, so that it stays one."""
    if not isinstance(text, Text):
        return text.replace(old, new)
    values = {
        name: replace_text(value, old, new) if isinstance(value, str) else value
        for name, value in text.values.items()
    }
    return Text(str(text).replace(old, new), text.template, values)


def render(text: str, language: str) -> str:
    """A text in a language; English where nobody has put it into that one."""
    if not isinstance(text, Text) or language == LANGUAGES[0]:
        return str(text)
    template = catalogue(language).get(text.template)
    if template is None:
        return str(text)
    if not text.values:
        return template
    told = {
        name: render(value, language) if isinstance(value, str) else value
        for name, value in text.values.items()
    }
    return template.format_map(told)


def all_languages(text: str) -> frozenset[str]:
    """A text in every language, for what a page sends back of what it was told."""
    if not isinstance(text, Text):
        return frozenset((text,))
    return frozenset(render(text, language) for language in LANGUAGES)


@functools.cache
def catalogue(language: str) -> dict[str, str]:
    """From English templates to those of a language."""
    found: dict[str, str] = {}
    for file in sorted((Path(__file__).parent / language).rglob("*.toml")):
        found |= tomllib.loads(file.read_text("utf-8"))
    return found


def pack(text: Any) -> Any:
    """What of a text is stored, as plain JSON; ``unpacked`` makes it one again. Others stay."""
    if not isinstance(text, Text):
        return text
    values = {name: pack(value) for name, value in text.values.items()}
    return {"english": str(text), "template": text.template, "values": values}


def unpack(stored: Any) -> Any:
    """The text of what ``packed`` told."""
    if not isinstance(stored, Mapping):
        return stored
    values = {name: unpack(value) for name, value in stored["values"].items()}
    return Text(stored["english"], stored["template"], values)


def restore_texts(value: Any, known: Mapping[str, Text]) -> Any:
    """A value that was stored in English, with its texts as they were: dataclasses, tuples."""
    if isinstance(value, str):
        return known.get(value, value)
    if isinstance(value, tuple):
        return tuple(restore_texts(one, known) for one in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return dataclasses.replace(value, **{k: restore_texts(v, known) for k, v in fields.items()})
    return value
