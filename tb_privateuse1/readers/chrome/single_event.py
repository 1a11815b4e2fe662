"""Read one event of a trace file again, with all its fields and arguments."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from tb_privateuse1.i18n import say
from tb_privateuse1.readers.chrome.checkpoints import checkpoint_before
from tb_privateuse1.readers.chrome.decoder import Decoder, list_of_raw
from tb_privateuse1.readers.chrome.document import Document
from tb_privateuse1.readers.chrome.event_lines import (
    FIRST_BYTES,
    begins_with_event,
    lines_as_list,
)
from tb_privateuse1.readers.chrome.json_values import BROKEN
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.chrome.repair import repair_text
from tb_privateuse1.readers.decompress import Source, first_bytes
from tb_privateuse1.trace.errors import TraceError, no_event
from tb_privateuse1.trace.file_checkpoints import Checkpoints


def read_event(path: str, checkpoints: Checkpoints, event: int) -> dict[str, Any]:
    """Return the fields and arguments of an event by its number (a row's ``event``).

    Whole numbers are ``int``, others ``Decimal``: both exact. Repairs are the same as for the row.
    Some megabytes are decoded; of a gzipped file, all text before them is unpacked. Raises
    TraceError ``unreadable`` or ``too_large`` as ``chrome.read`` does. Raises ``no_event`` if the
    file has no whole event of that number: then the checkpoints are of an earlier file.
    """
    if event < 0:
        raise no_event(path)
    place, number = checkpoint_before(checkpoints, event)
    start = place.offset_bytes if place else 0
    tally = Tally()
    blocks = Source(path).blocks(start)
    if place and place.bare and begins_with_event(first_bytes(path, FIRST_BYTES)):
        blocks = lines_as_list(blocks)
    document = Document(blocks, path, tally, place)
    # The same decoder as in the first reading, because it decides which places are damaged.
    for text, events in document.windows(Decoder(tally).decode):
        if event < number + len(events):
            return _decoded(bytes(list_of_raw(text)[event - number]), path)
        number += len(events)
    raise no_event(path)


def _decoded(text: bytes, path: str) -> dict[str, Any]:
    decoder = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)
    try:
        return decoder.decode(text)
    except BROKEN:  # in a field without a column, which the first reading skipped
        try:
            return decoder.decode(repair_text(text)[0])
        except BROKEN as error:
            raise TraceError(
                "no_event", say("{path}: the event is damaged ({error}).", path=path, error=error)
            ) from error
