"""Table of what a file says of itself beside its events, and no other table or field has."""

from __future__ import annotations

from tb_privateuse1.trace.table import MaybeText, Table


class RecordedMetadata(Table, frozen=True):
    """Entries of the program (``prof.add_metadata``) or of its profiler, in the order of the file.

    Both columns are indices into ``Trace.strings``. A value that is no text is JSON.
    """

    key: MaybeText
    value: MaybeText
