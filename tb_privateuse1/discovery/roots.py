"""The roots of the search: a logdir, or the named paths of ``--logdir_spec``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from tb_privateuse1.discovery.file import basename, printable
from tb_privateuse1.discovery.remote import is_url
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError


def parse_spec(text: str) -> list[tuple[str, str]]:
    """Parse TensorBoard's ``--logdir_spec``, ``name:path,path,…``, into (name, path) pairs.

    A path without a name is named by its last part. As in TensorBoard, a name does not start with
    ``/`` or end before ``://``, and a drive letter is not a name.
    """
    roots = []
    for part in filter(None, text.split(",")):
        name, colon, path = part.partition(":")
        is_url = re.match("[a-zA-Z][0-9a-zA-Z.]*://", part) is not None
        if not colon or is_url or part.startswith("/") or os.path.splitdrive(part)[0]:
            name, path = "", part
        roots.append((name or basename(path), path))
    return roots


def describe(roots: Sequence[tuple[str, str]]) -> str:
    """Return the named roots as text, for messages and the page."""
    return ", ".join(
        f"{name}:{printable(path)}" if name else printable(path) for name, path in roots
    )


def locate(path: str) -> str:
    """Return the absolute path of a logdir, or its URL. Raises TraceError ``no_such_path``.

    ``file://`` is local. Only listing a URL shows whether its directory exists.
    """
    if path.startswith("file://"):
        # Here: it imports the clients of HTTP and TLS.
        from urllib.request import url2pathname

        path = url2pathname(path.removeprefix("file://"))
    if is_url(path):
        return path
    try:
        # Links are not resolved, since run names come from the user's path.
        absolute = os.path.normpath(Path.cwd() / Path(path).expanduser())
        if Path(absolute).exists():
            return absolute
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a null character
        pass
    raise TraceError(
        "no_such_path", say("There is no file or directory {path}.", path=printable(path))
    )
