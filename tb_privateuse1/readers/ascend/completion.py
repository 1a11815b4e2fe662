"""Add to the events of a recording what the other files of its folder have."""

from __future__ import annotations

from collections.abc import Sequence

from tb_privateuse1.readers.ascend import alters
from tb_privateuse1.readers.ascend.collectives import with_collectives
from tb_privateuse1.readers.ascend.inputs import with_json_inputs
from tb_privateuse1.readers.raw import Raw


def complete(raw: Raw, parts: Sequence[str]) -> Raw:
    """Return the raw columns with what files of the folder add; see ``folder.complete``.

    In ``trace_view.json`` inputs and collectives become what torch would have written.
    """
    if parts:
        # It takes pyarrow, which most programs that read do not need.
        from tb_privateuse1.readers.ascend import folder

        raw = folder.complete(raw, parts)
    if alters(raw):
        raw = with_collectives(with_json_inputs(raw))
    return raw
