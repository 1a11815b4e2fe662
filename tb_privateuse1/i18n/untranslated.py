"""List the texts of the package that a language lacks; ``make texts`` prints them.

A missing translation is not an error, since the English text is shown instead. Templates are found
in the source: the literal arguments of ``say`` and ``plural``.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Sequence
from pathlib import Path

from tb_privateuse1.i18n import LANGUAGES, catalog, many

_PACKAGE = Path(__file__).parents[1]
_ARGUMENT = {"say": 0, "plural": 1}
"""The position of the template, or of the noun."""


@functools.cache  # the source does not change meanwhile
def templates() -> dict[str, str]:
    """Return all English templates of the package, each with a file and line that uses it.

    Raises ValueError for a template that is not written as a literal.
    """
    found: dict[str, str] = {}
    for file in sorted(_PACKAGE.rglob("*.py")):
        name = file.relative_to(_PACKAGE).as_posix()
        if name == "i18n/__init__.py":  # the functions themselves, see below
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                place = f"{name}:{node.lineno}"
                template = _template(node, place)
                if template is not None:
                    found.setdefault(template, place)
    joins = ("{first}, {next}", "{first} {next}")  # join_list, join_sentences
    return found | dict.fromkeys(joins, "i18n/__init__.py")


def _template(call: ast.Call, place: str) -> str | None:
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    position = _ARGUMENT.get(name)
    if position is None or len(call.args) <= position:
        return None
    argument = call.args[position]
    if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
        raise ValueError(f"{place}: {name}() takes a text as it is written")
    return argument.value if name == "say" else many(argument.value)


def untranslated(language: str) -> dict[str, str]:
    """Return the templates without a translation, each with its file and line."""
    known = catalog(language)
    return {text: place for text, place in templates().items() if text not in known}


def main(arguments: Sequence[str]) -> None:
    """Print each language's missing texts; with ``--count`` their number alone."""
    for language in LANGUAGES[1:]:
        missing = untranslated(language)
        lines = [f"{language}: {len(missing)} texts are missing and shown in English"]
        if "--count" not in arguments:
            lines += [f"  {place}  {text}" for text, place in missing.items()]
        sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main(sys.argv[1:])
