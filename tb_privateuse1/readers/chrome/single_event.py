"""One event of a trace file with all that the file has of it, read again when it is asked for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from tb_privateuse1.i18n import say
from tb_privateuse1.readers.chrome.checkpoints import checkpoint_before
from tb_privateuse1.readers.chrome.decoder import Decoder, list_of_raw
from tb_privateuse1.readers.chrome.document import Document
from tb_privateuse1.readers.chrome.metadata import BROKEN
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.chrome.repair import repair_text
from tb_privateuse1.readers.decompress import Source
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.file_checkpoints import Checkpoints


def read_event(path: str, checkpoints: Checkpoints, event: int) -> dict[str, Any]:
    """The event of a number (a row's ``event``): its fields and arguments as the file has them.

    Whole numbers are ``int``, others ``Decimal``: both exact. What was repaired for the row is
    repaired here. Costs the decoding of some megabytes, and where the file is gzipped, the
    unpacking of all that is before them. Raises TraceError ``unreadable`` or ``too_large`` as
    ``chrome.read`` does, and ``no_event`` if the file has no whole event of that number: then it
    is not the file any more that the checkpoints are of.
    """
    if event < 0:
        raise _none(path)
    place, number = checkpoint_before(checkpoints, event)
    start = place.offset_bytes if place else 0
    tally = Tally()
    document = Document(Source(path).blocks(start), path, tally, place)
    # Decoded as at first, as the damage that is found depends on what is decoded.
    for text, events in document.windows(Decoder(tally).decode):
        if event < number + len(events):
            return _decoded(bytes(list_of_raw(text)[event - number]), path)
        number += len(events)
    raise _none(path)


def _decoded(text: bytes, path: str) -> dict[str, Any]:
    decoder = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)
    try:
        return decoder.decode(text)
    except BROKEN:  # in a field that no table has
        try:
            return decoder.decode(repair_text(text)[0])
        except BROKEN as error:
            raise TraceError(
                "no_event", say("{path}: the event is damaged ({error}).", path=path, error=error)
            ) from error


def _none(path: str) -> TraceError:
    hint = say("Was it written again since it was read? Reload the list of runs.")
    return TraceError("no_event", say("{path} has no such event.", path=path), hint)
