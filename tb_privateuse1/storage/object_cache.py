"""Share cached traces through an object store: ``$TB_PRIVATEUSE1_CACHE_URL``.

Its files are those of the local cache. Readers copy there what they stored, and a server copies
what it needs into its own cache, where it is checked like any file. Nothing is removed there but
what is read anew: object stores have rules for the age of objects.
"""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path

from tb_privateuse1.discovery import remote
from tb_privateuse1.discovery.remote import RemoteError
from tb_privateuse1.storage import cache_directory

VARIABLE = "TB_PRIVATEUSE1_CACHE_URL"
_ABSENT = "no_such_path"
_log = logging.getLogger(__name__)


def shared_url() -> str | None:
    """Return the URL below which cached traces are shared; None if none is set."""
    url = os.environ.get(VARIABLE, "").rstrip("/")
    if url and not remote.is_url(url):
        _log.warning("%s: %r is no URL, such as s3://bucket/cache", VARIABLE, url)
        return None
    return url or None


def keep(path: Path, url: str) -> None:
    """Copy a cached trace, its part and its pyramid to the store. Raises RemoteError.

    The trace comes last: where it is, the others are.
    """
    beside = (cache_directory.part_path(path), cache_directory.pyramid_path(path))
    for file in (*filter(Path.is_file, beside), path):
        remote.upload(file, f"{url}/{file.name}")


def bring(path: Path, url: str, *, columns: bool) -> bool:
    """Copy a cached trace or, without ``columns``, its part from the store to its local path.

    Returns whether it is there. Raises RemoteError, or OSError where nothing can be written.
    """
    if not columns and _bring(cache_directory.part_path(path), url):
        return True
    if not _bring(path, url):
        return False
    with contextlib.suppress(OSError):  # the trace is whole without it
        _bring(cache_directory.pyramid_path(path), url)
    return True


def forget(path: Path, url: str) -> None:
    """Remove a cached trace from the store, with its part. Raises RemoteError."""
    for file in (cache_directory.part_path(path), path):
        try:
            remote.remove(f"{url}/{file.name}")
        except RemoteError as error:
            if error.code != _ABSENT:
                raise


def _bring(path: Path, url: str) -> bool:
    try:
        with cache_directory.replacing(path) as file:
            remote.download(f"{url}/{path.name}", Path(file.name))
    except RemoteError as error:
        if error.code != _ABSENT:
            raise
        return False
    return True
