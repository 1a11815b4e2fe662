"""The options of views as flags, made from ``options.json``: no view is imported for them."""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tb_privateuse1.cli.commands import UsageError

_DEST = "view:"
"""Before the names in the namespace: ``links --table`` is not the ``--table`` of CSV."""


@functools.cache
def described() -> dict[str, Any]:
    """Read what each view, lookup and ``event`` is about, and its options."""
    file = Path(__file__).with_name("options.json")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def flag(name: str) -> str:
    """Return the flag of an option: ``--short-ns``."""
    return "--" + name.replace("_", "-")


def add_flags(parser: argparse.ArgumentParser, view: str, without: str | None = None) -> None:
    """Add the options of a view, all ``without`` one that the command has in another form."""
    group = parser.add_argument_group(f"options of {view}")
    for option in described()[view]["options"]:
        if option["name"] != without:
            group.add_argument(
                flag(option["name"]),
                dest=_DEST + option["name"],
                default=argparse.SUPPRESS,
                required=option["required"],
                help=_help(option),
                **_values(option),
            )


def add_step(parser: argparse.ArgumentParser) -> None:
    """Add ``--step`` where the view is not known yet."""
    parser.add_argument(
        "--step", dest=f"{_DEST}step", default=argparse.SUPPRESS, metavar="N", help="as of the view"
    )


def given(options: argparse.Namespace) -> dict[str, str]:
    """Return the options that were given, as an HTTP query has them."""
    found = {k.removeprefix(_DEST): v for k, v in vars(options).items() if k.startswith(_DEST)}
    return {k: str(v).lower() if isinstance(v, bool) else v for k, v in found.items()}


def chosen(
    options: argparse.Namespace, view: Callable[..., Any], more: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return a view's keyword arguments. Raises UsageError for a value that it does not take."""
    from tb_privateuse1.trace.errors import TraceError
    from tb_privateuse1.views.request import parse_options

    try:
        return parse_options(view, {**(more or {}), **given(options)})
    except TraceError as error:
        problem = " ".join(filter(None, (error.message, error.hint)))
        raise UsageError(f"{problem} (see {options.parser.prog} --help)") from error


def _help(option: Mapping[str, Any]) -> str:
    text, default = option["help"].replace("%", "%%"), option["default"]
    if isinstance(default, bool):
        default = flag(option["name"]) if default else "--no-" + flag(option["name"])[2:]
    return text if default in (None, "") else f"{text} (default: {default})"


def _values(option: Mapping[str, Any]) -> dict[str, Any]:
    if option["kind"] == "true or false":
        return {"action": argparse.BooleanOptionalAction}
    if option["choices"]:
        return {"choices": option["choices"]}
    return {"metavar": {"whole number": "N", "number": "X", "text": "TEXT"}[option["kind"]]}
