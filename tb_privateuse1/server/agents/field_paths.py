"""Parse paths to parts of a result: ``account.classes[3:]``, ``rows[0].name``.

A path names fields by dots, an item of a list by its number, and part of a list by a slice as in
Python. The last one stands at the end only.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

_STEP = re.compile(r"(?:^|(?<=.)\.)([A-Za-z_]\w*)|\[(\d{1,9})\]|\[(\d{0,9}):(\d{0,9})\](?=$)")
_LONGEST = 200


class ResultPart(Struct, frozen=True):
    """A part of a result: of a list, the items from ``first`` on, up to before ``stop``."""

    path: str
    """Without its slice."""
    value: Any
    first: int = 0
    stop: int | None = None


def select(result: dict[str, Any], path: str) -> ResultPart:
    """Return the part of a result at a path. Raises TraceError ``bad_option``."""
    value: Any = result
    at = 0
    for match in _STEP.finditer(path if len(path) <= _LONGEST else ""):
        if match.start() != at:
            break
        name, item, first, stop = match.groups()
        if name is not None and isinstance(value, dict) and name in value:
            value = value[name]
        elif item is not None and isinstance(value, list) and int(item) < len(value):
            value = value[int(item)]
        elif first is not None and isinstance(value, list):
            start, end = int(first or 0), int(stop) if stop else None
            return ResultPart(path[:at], value[start:end], start, end)
        else:
            raise _missing(path, path[:at], value)
        at = match.end()
    if at == 0 or at != len(path):
        raise _missing(path, path[:at], value)
    return ResultPart(path, value)


def rest(part: ResultPart, shown: int) -> str:
    """Return the path of a list's items beyond those shown."""
    return f"{part.path}[{part.first + shown}:{'' if part.stop is None else part.stop}]"


def _missing(path: str, found: str, value: Any) -> TraceError:
    message = say("The result has no field {path!r}.", path=path[:_LONGEST])
    if isinstance(value, dict):
        names = ", ".join(list(value)[:60]) or say("none")
        return TraceError("bad_option", message, say("There are: {names}.", names=names))
    if isinstance(value, list):
        hint = say("{path} is a list of {count:,}.", path=found, count=len(value))
        return TraceError("bad_option", message, hint)
    return TraceError("bad_option", message, say("{path} has no parts.", path=found))
