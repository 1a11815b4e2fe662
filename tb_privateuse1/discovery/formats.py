"""Formats of trace files: by which names and first bytes discovery recognizes them.

Discovery knows no format. ``readers.READERS`` lists them, and the callers of discovery pass it on.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from tb_privateuse1.discovery import compressed_files
from tb_privateuse1.i18n import Text

OTHER_HEAD_BYTES = 64 << 10


class DistributedInfo(Struct, frozen=True):
    """The rank and the number of ranks in a trace's metadata."""

    rank: int | None = None
    world_size: int | None = None


class Signs(Struct, frozen=True):
    """The evidence in the beginning of a file; ``sure`` if more of it would not change it."""

    is_trace: bool
    info: DistributedInfo
    sure: bool


class Folder(Struct, frozen=True, kw_only=True):
    """The layout of a folder that is one recording: some tools write several files into one.

    All patterns are searched. What lies deeper in the folder belongs to the recording, too.
    """

    names: re.Pattern[str]
    """Match the folder's name; group ``worker`` is the process, ``stamp`` the time."""
    traces: tuple[re.Pattern[str], ...]
    """Match the names of files that hold the events, the richest first: one of them is read."""
    parts: re.Pattern[str]
    """Matches the names of files that add to the events."""
    rank: re.Pattern[str]
    """Matches names of files whose group 1 is the rank."""
    hint: str
    """What to do about a folder without events; a sentence for people."""


class OtherKind(Struct, frozen=True, kw_only=True):
    """A kind of files that are recognized, and are no recordings by themselves."""

    message: Text
    """What such a file is; ``{path}`` is its name."""
    hint: Text
    """What to do about it, or what to put beside it."""
    head: Callable[[bytes], object]
    """Return something true for the first bytes of such a file, at most ``OTHER_HEAD_BYTES``."""
    name: re.Pattern[str]
    """Searched in the name without the ending of a packed file, too: where the first bytes alone
    are not enough."""
    is_listed: bool = False
    """A logdir that has such a file says so."""
    suffixes: tuple[str, ...] = ()
    """Of its files' names, in lower case, where traces have others."""

    def fits(self, name: str, head: bytes) -> bool:
        """Return whether a file of this name and these first bytes is one."""
        fits_name = self.name.search(compressed_files.unpacked_name(name))
        return fits_name is not None and bool(self.head(head[:OTHER_HEAD_BYTES]))


class Format(Struct, frozen=True, kw_only=True):
    """A format of trace files. All bytes are unpacked ones."""

    name: str
    """Lower case; a trace remembers its reader by it."""
    suffixes: tuple[str, ...]
    """Of its files' names, in lower case; each may be followed by the ending of a packed file."""
    sniff: Callable[[bytes], Signs]
    """Examine the first bytes of a file; asked again with more unless it is sure."""
    last_info: Callable[[bytes], DistributedInfo] | None = None
    """Find rank and world size in the last bytes of a file; None if they are never there."""
    own_names: re.Pattern[str] | None = None
    """Files with such names are listed even if they are empty, damaged or being written.

    The ending of a packed file is not part of the name."""
    sources: tuple[str, ...] = ()
    """Suffixes of files from which its tool makes such traces. One is listed only where no other
    file of its name without suffix is: to say what to do."""
    named_after: re.Pattern[str] | None = None
    """Matches names of files that add to a trace beside them; group 1 is its name, no suffix.

    Without that trace such a file is a recording of its own."""
    beside: Callable[[bytes], int | None] | None = None
    """Return the process of a file that lies beside a trace and adds to its events, by the file's
    first bytes: 0 if it does not say one, None for other files. Traces are not asked about."""
    joins_rank: bool = False
    """Its files add to the last recording of their rank in the same directory, by the rank in their
    names. Without such a recording one of them is a recording of its own."""
    is_partial: bool = False
    """Its files have no operators: nothing is put beside such a recording to complete it."""
    joins_any: bool = False
    """Its files may add to any recording of their directory that is not partial; ``complete``
    finds out by what is in both. Without such a recording each is a recording of its own."""
    joined: Callable[[str], tuple[str, ...]] | None = None
    """Read a local file with the operators of several processes, and return the labels of its
    recordings (``TraceFiles.label``): empty if they look alike."""
    others: tuple[OtherKind, ...] = ()
    """Kinds of files about which there is something to say instead."""
    folder: Folder | None = None
    """The folder into which its tool writes; None if its files are recordings by themselves."""


def suffixes(formats: Iterable[Format]) -> tuple[str, ...]:
    """Return the endings of trace files' names, in lower case, packed ones too, longest first."""
    return _with_packed(suffix for each in formats for suffix in each.suffixes)


def _with_packed(plain: Iterable[str]) -> tuple[str, ...]:
    return _packed_too(tuple(plain))


@functools.lru_cache(maxsize=64)
def _packed_too(known: tuple[str, ...]) -> tuple[str, ...]:
    packed = (suffix + end for end in compressed_files.SUFFIXES for suffix in known)
    return tuple(sorted((*known, *packed), key=len, reverse=True))


def other_suffixes(formats: Iterable[Format]) -> tuple[str, ...]:
    """Return the endings of names of files that are listed and are no traces, in lower case."""
    return _with_packed(end for each in formats for kind in each.others for end in kind.suffixes)


def may_add(name: str, formats: Sequence[Format]) -> bool:
    """Return whether a file of this name may be one that lies beside a trace and adds to it."""
    ends = (*suffixes(formats), *other_suffixes(formats))
    return name.lower().endswith(ends)


def other_kind(name: str, head: bytes, formats: Iterable[Format]) -> OtherKind | None:
    """Return what a file is that is no trace, by its name and first bytes; None if not known."""
    kinds = (kind for each in formats for kind in each.others)
    return next((kind for kind in kinds if kind.fits(name, head)), None)


def folders(formats: Iterable[Format]) -> tuple[Folder, ...]:
    """Return the layouts of folders that are one recording."""
    return tuple(each.folder for each in formats if each.folder is not None)


def is_part(name: str, formats: Iterable[Format]) -> bool:
    """Return whether a file of this name may add to the events of a folder's recording."""
    return any(folder.parts.search(name) for folder in folders(formats))


def completed_name(name: str, formats: Iterable[Format]) -> str | None:
    """Return the name, without suffix, of the trace that a file adds to; None if to none."""
    plain = compressed_files.unpacked_name(name)
    matches = (each.named_after.search(plain) for each in formats if each.named_after)
    return next((match[1] for match in matches if match), None)


def stem(name: str, formats: Iterable[Format]) -> str | None:
    """Return a file's name without its format's suffix; None if it has none."""
    lower = name.lower()
    end = next((suffix for suffix in suffixes(formats) if lower.endswith(suffix)), None)
    return name[: -len(end)] if end else None


def is_own_name(name: str, formats: Sequence[Format]) -> bool:
    """Return whether only a trace of one of these formats has such a name."""
    plain = compressed_files.unpacked_name(name)
    return any(each.own_names and each.own_names.search(plain) for each in formats)


def is_source(name: str, formats: Iterable[Format]) -> bool:
    """Return whether a tool must make a trace from a file of this name first."""
    ends = tuple(suffix for each in formats for suffix in each.sources)
    return bool(ends) and compressed_files.unpacked_name(name).lower().endswith(ends)
