"""Files behind a URL: ``s3://``, ``gs://``, ``https://``, ``memory://`` and others of fsspec.

fsspec is an optional dependency and imported with the first URL. Everything raises
``RemoteError``. It is an OSError, so that readers of files need not distinguish remote ones, and
a TraceError with a hint for the user. docs/guide/remote.md describes the user's side.
"""

from __future__ import annotations

from tb_privateuse1.discovery.remote.errors import RemoteError
from tb_privateuse1.discovery.remote.listing import Status, files_of, is_file, status, walk
from tb_privateuse1.discovery.remote.stream import open_url
from tb_privateuse1.discovery.remote.transfer import download, remove, upload
from tb_privateuse1.discovery.remote.url import below, is_url, name, parent, scrub, shown

__all__ = [
    "RemoteError",
    "Status",
    "below",
    "download",
    "files_of",
    "is_file",
    "is_url",
    "name",
    "open_url",
    "parent",
    "remove",
    "scrub",
    "shown",
    "status",
    "upload",
    "walk",
]
