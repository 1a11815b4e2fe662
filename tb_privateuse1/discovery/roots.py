"""Where the search begins: a logdir, or the named roots of ``--logdir_spec``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.request import url2pathname

from tb_privateuse1.discovery.file import basename, shown
from tb_privateuse1.discovery.remote import is_url
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError


def parse_spec(text: str) -> list[tuple[str, str]]:
    """TensorBoard's ``--logdir_spec``, ``name:path,path,…``, as (name, path) pairs.

    A path without a name is named by its last part. As in TensorBoard, a name has neither ``/``
    at its start nor ``://`` after it, and a drive letter is none.
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
    """Named roots in words, for messages and the page."""
    return ", ".join(f"{name}:{shown(path)}" if name else shown(path) for name, path in roots)


def locate(path: str) -> str:
    """The absolute path of a logdir, or its URL as it is. Raises TraceError ``no_such_path``.

    ``file://`` is local. Whether a URL's directory exists is seen when it is listed.
    """
    if path.startswith("file://"):
        path = url2pathname(path.removeprefix("file://"))
    if is_url(path):
        return path
    try:
        # Links stay as they are: they are the names given.
        found = os.path.normpath(Path.cwd() / Path(path).expanduser())
        if Path(found).exists():
            return found
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a null character
        pass
    raise TraceError("no_such_path", say("There is no file or directory {path}.", path=shown(path)))
