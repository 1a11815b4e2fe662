"""Tables of what a file says of itself beside its events, and of sources that lie beside it."""

from __future__ import annotations

from tb_privateuse1.trace.table import MaybeText, Table


class RecordedMetadata(Table, frozen=True):
    """Entries of the program (``prof.add_metadata``) or of its profiler, in the order of the file.

    Both columns are indices into ``Trace.strings``. A value that is no text is JSON.
    """

    key: MaybeText
    value: MaybeText


class KernelSources(Table, frozen=True):
    """Kernels with what their compiler wrote; a name occurs once per file that has it.

    All columns are indices into ``Trace.strings``.
    """

    name: MaybeText
    """As device activities have it."""
    file: MaybeText
    """The name of the generated file."""
    text: MaybeText
