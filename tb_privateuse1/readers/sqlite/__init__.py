"""Read databases of profilers in sqlite's format: shared by the formats that are such files.

Order: database < columns < reading. A format adds its tables: what their rows are, and in which
columns. ``Database`` trusts nothing in the file.
"""

from __future__ import annotations

from collections.abc import Iterable

from tb_privateuse1.discovery.formats import DistributedInfo, Signs

__all__ = ["sniff_tables"]

_MAGIC = b"SQLite format 3\x00"


def sniff_tables(text: bytes, marks: Iterable[str]) -> Signs:
    """Return the signs of a database: sqlite's first bytes, and a name that only its tables have.

    A list of tables that grew may be anywhere in the file, so that more of it may still show them.
    """
    if not text.startswith(_MAGIC):
        return Signs(False, DistributedInfo(), sure=len(text) >= len(_MAGIC))
    found = any(mark.encode() in text for mark in marks)
    return Signs(found, DistributedInfo(), sure=found)
