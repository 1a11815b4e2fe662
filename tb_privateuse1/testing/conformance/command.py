"""The command ``python -m tb_privateuse1.capture --check``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import torch

from tb_privateuse1.capture import backend
from tb_privateuse1.capture.accuracy import CLASSES
from tb_privateuse1.testing.conformance import output
from tb_privateuse1.testing.conformance.requirements import REQUIREMENTS
from tb_privateuse1.testing.conformance.scorecard import Scorecard, judge, keep
from tb_privateuse1.testing.conformance.subject import Subject
from tb_privateuse1.trace.accuracy import MEANINGS

BELOW, NO_BACKEND = 1, 2
"""Exit codes: the class is below ``--min-class``; there is no backend to check."""

_WIDTH = 80
_ABOVE_ALL_LEVELS = "99"
"""The levels of ``libkineto/src/Logger.h`` have one digit."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tb_privateuse1.capture --check",
        description="Judge a PrivateUse1 backend as a source of device times, in some seconds.",
        epilog="classes:\n" + "\n".join(_class_lines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--check", action="store_true", help="must come first")
    add("--import", dest="imports", action="append", default=[], metavar="MODULE",
        help="import it first: the backend, unless torch loads it by itself")  # fmt: skip
    add("--device", metavar="NAME[:INDEX]", help="the backend's name, and one of its devices")
    add("--only", metavar="CODES", type=lambda text: text.split(","), default=[],
        help="these lines alone, with commas between; there is no class then")  # fmt: skip
    add("--json", metavar="FILE", help="write all that was measured; - is the output")
    add("--badge", metavar="FILE.svg", help="write a badge with the class")
    add("--min-class", metavar="CLASS", choices=list(CLASSES),
        help="end with 1 if the class is below")  # fmt: skip
    add("--no-keep", action="store_true",
        help="recordings of this backend are not to name the class")  # fmt: skip
    return parser


def _class_lines() -> Iterator[str]:
    """Yield what each class means, as lines of the help."""
    for letter, meaning in MEANINGS.items():
        yield textwrap.fill(f"  {letter}  {meaning}", _WIDTH, subsequent_indent="     ")


def main(arguments: Sequence[str]) -> int:
    """Check the backend that the command line names; return the exit code."""
    parser = _parser()
    options = parser.parse_args(list(arguments))
    known = {one.code for one in REQUIREMENTS}
    if unknown := set(options.only) - known:
        parser.error(f"there is no line {', '.join(sorted(unknown))}; there are {sorted(known)}")
    if options.only and options.min_class:
        parser.error("--min-class needs all lines")
    imported = [importlib.import_module(name) for name in options.imports]
    subject = _subject(options.device)
    if isinstance(subject, str):
        sys.stderr.write(f"tb_privateuse1: {'; '.join([subject, *_plain_folders(imported)])}\n")
        return NO_BACKEND
    # The kit makes some twenty recordings; Kineto's lines about each would hide the scorecard.
    os.environ.setdefault("KINETO_LOG_LEVEL", _ABOVE_ALL_LEVELS)
    torch.set_num_threads(1)  # a device that computes on the host needs the cores itself
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the capture warns of has lines of its own
        card = judge(subject, options.only)
    _write(card, options)
    letter = card.grade.letter if card.grade else "A"
    return BELOW if options.min_class and letter > options.min_class else 0


def _plain_folders(imported: Sequence[ModuleType]) -> Iterator[str]:
    """Yield that a module is a folder without code, which Python imports without an error."""
    for module in imported:
        if module.__file__ is None and hasattr(module, "__path__"):
            folder = ", ".join(module.__path__)
            yield (
                f"{module.__name__!r} is the plain folder {folder}, which registered nothing: "
                "start where Python finds your package first, or install it"
            )


def _subject(wanted: str | None) -> Subject | str:
    """Return the backend to check, or why there is none."""
    name, _, index = (wanted or "").partition(":")
    found = backend.backend_name()
    if name and name != found:
        return f"there is no PrivateUse1 backend {name!r}, but {found!r}; name its --import"
    if index and not index.isdecimal():
        return f"{wanted!r} has no number of a device behind the colon"
    failed = _failure(found)
    if failed is not None and found == backend.UNNAMED:
        return "no PrivateUse1 backend is loaded: name its module by --import"
    if failed is not None and hasattr(torch, found):  # without a module the line renamed says so
        return f"{found!r} has no device that works: {failed}"
    return Subject(int(index) if index else None)


def _failure(name: str) -> str | None:
    """Return why the backend cannot make a tensor, or None if it can."""
    try:
        torch.empty(1, device=name)
    except Exception as error:
        return str(error).partition("\n")[0]
    return None


def _write(card: Scorecard, options: argparse.Namespace) -> None:
    if not options.no_keep:
        try:
            keep(card)
        except OSError as error:
            sys.stderr.write(f"tb_privateuse1: recordings will not name the class: {error}\n")
    content = json.dumps(card.as_json(), indent=1, ensure_ascii=False)
    if options.json == "-":
        sys.stdout.write(content + "\n")
    else:
        sys.stdout.write(output.text(card))
        if options.json:
            Path(options.json).write_text(content, encoding="utf-8")
    if options.badge:
        Path(options.badge).write_text(output.badge(card), encoding="utf-8")
