"""Import Python files that users name on the command line; never files of a logdir."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import Struct

from tb_privateuse1.i18n import Text, fill
from tb_privateuse1.trace.errors import TraceError


class Messages(Struct, frozen=True):
    """Texts about unusable files of a kind; the templates have ``{name}`` and ``{error}``."""

    code: str
    unreadable: Text
    not_python: Text
    not_run: Text
    not_loaded: Text
    hint: Text

    def error(self, where: str, template: Text, **values: Any) -> TraceError:
        """Return the error that a file or a package is; it names no folder."""
        return TraceError(self.code, fill(template, name=Path(where).name, **values), self.hint)


def run_file(path: str, messages: Messages) -> ModuleType:
    """Run a file, again only if it has changed. Raises TraceError if that fails."""
    try:
        stamp = Path(path).stat().st_mtime_ns
    except OSError as error:
        raise messages.error(path, messages.unreadable, error=error.strerror) from error
    return _run(path, stamp, messages)


@functools.lru_cache(maxsize=64)
def _run(path: str, modified_ns: int, messages: Messages) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tb_privateuse1_user_{modified_ns}", path)
    if spec is None or spec.loader is None:
        raise messages.error(path, messages.not_python)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a user's file may raise anything: report it and go on
        raise messages.error(path, messages.not_run, error=first_line(error)) from error
    return module


def loaded(where: str, load: Callable[[], Any], messages: Messages) -> Any:
    """Return the value of a package's entry point. Raises TraceError if that fails."""
    try:
        return load()
    except Exception as error:
        raise messages.error(where, messages.not_loaded, error=first_line(error)) from error


def first_line(error: Exception) -> str:
    """Return the type of an exception and the first line of its message."""
    return f"{type(error).__name__}: {error}".splitlines()[0]
