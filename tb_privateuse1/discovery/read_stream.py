"""Base class of our own file objects: streams that can be read and sought in, and not written."""

from __future__ import annotations

import io


class ReadStream(io.RawIOBase):
    """A file to be read and sought in; subclasses have ``readinto``, ``seek`` and ``tell``."""

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that it can be sought in."""
        return True
