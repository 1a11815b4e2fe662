"""Files behind a URL: ``s3://``, ``gs://``, ``https://``, ``memory://``, whatever fsspec knows.

fsspec is an optional dependency and imported with the first URL. Everything raises
``RemoteError``, which is an OSError, so that who reads files need not know where they are, and a
TraceError, as it says what to do. docs/guide/remote.md describes what a user sees of this.
"""

from __future__ import annotations

from tb_privateuse1.discovery.remote.errors import RemoteError
from tb_privateuse1.discovery.remote.listing import Status, files_of, is_file, status, walk
from tb_privateuse1.discovery.remote.stream import open_url
from tb_privateuse1.discovery.remote.url import below, is_url, name, parent, scrub, shown

__all__ = [
    "RemoteError",
    "Status",
    "below",
    "files_of",
    "is_file",
    "is_url",
    "name",
    "open_url",
    "parent",
    "scrub",
    "shown",
    "status",
    "walk",
]
