"""Build the command-line reference from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from docs.generate.sections import between, table
from tb_privateuse1 import cli

_BEGIN, _END = "<!-- commands: generated -->\n", "<!-- end of commands -->\n"


def with_commands(document: str) -> str:
    """Return docs/reference/command-line.md with the current commands and options."""
    return between(document, _BEGIN, "".join(_sections(cli._parser())), _END)


def _sections(parser: argparse.ArgumentParser) -> Iterator[str]:
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    for listed in commands._choices_actions:
        yield f"\n## {listed.dest}\n\n{_sentence(listed.help)}\n\n"
        yield table(("argument", "meaning"), list(_rows(commands.choices[listed.dest])))
    yield "\n"


def _rows(command: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for action in command._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        if isinstance(action, argparse._SubParsersAction):
            yield "`NAME PATH`", "a view and its trace; the view's [options](options.md) are flags"
            continue
        yield f"`{_spelled(action)}`", _meaning(action)


def _spelled(action: argparse.Action) -> str:
    value = action.metavar or (action.dest.upper() if action.choices is None else None)
    if isinstance(value, tuple):
        value = " ".join(value)
    if value is None:
        value = "{" + ",".join(map(str, action.choices or ())) + "}"
    if not action.option_strings:
        return f"[{value}]" if action.nargs == "?" else str(value)
    flags = ", ".join(action.option_strings)
    return flags if action.nargs == 0 else f"{flags} {value}"


def _meaning(action: argparse.Action) -> str:
    required = action.required and bool(action.option_strings)
    return "; ".join(part for part in (action.help or "", "required" if required else "") if part)


def _sentence(text: str | None) -> str:
    return f"{(text or '')[:1].upper()}{(text or '')[1:]}."
