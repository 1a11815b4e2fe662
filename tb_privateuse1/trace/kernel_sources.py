"""Table of the sources of generated kernels, where a recording has them beside it."""

from __future__ import annotations

from tb_privateuse1.trace.table import MaybeText, Table


class KernelSources(Table, frozen=True):
    """Kernels with what their compiler wrote; a name occurs once per file that has it.

    All columns are indices into ``Trace.strings``.
    """

    name: MaybeText
    """As device activities have it."""
    file: MaybeText
    """The name of the generated file."""
    text: MaybeText
