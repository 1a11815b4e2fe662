"""List and read the files in zip and tar archives, without unpacking them to the disk.

A file in an archive has the path ``<archive>!/<name>``. Nothing is written anywhere, and names that
lead out of the archive are refused, as are links, devices, sparse files and archives in archives.
A packed tar is unpacked from its beginning for each file, up to it. Formats: PKWARE's APPNOTE for
zip; POSIX.1-2001 (pax) and GNU tar.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import stat
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, BinaryIO, cast

from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.discovery import compressed_files
from tb_privateuse1.discovery.archive_streams import (
    BROKEN,
    Bounded,
    Forward,
    InOrder,
    MemberStream,
    TooLarge,
)
from tb_privateuse1.i18n import Text, fill, say
from tb_privateuse1.trace.findings import Finding

SUFFIXES = (".zip", ".tar", ".tgz", *(".tar" + end for end in compressed_files.SUFFIXES))
"""Files with such names are looked at below a logdir."""

_SEPARATOR = "!/"
_MOST_FILES = 10_000
_HEAD_BYTES = 64 << 10
_HEADS_BYTES = 8 << 20
"""So much of the beginnings of a packed tar's files is kept, so that recognizing them is cheap."""
_OUTSIDE = re.compile(r"[a-zA-Z]:|/|(?:.*/)?\.\.(?:/|$)|.*[\0-\x1f]", re.DOTALL)
_HIDDEN = re.compile(r"(?:.*/)?(?:\.(?!/)|__MACOSX/)")
_UNPACK = say("Unpack it.")
_REFUSALS: dict[str, tuple[Text, Text | None]] = {
    "archive_outside": (
        say("{n} files of {archive} have names that lead out of it; they are not read."),
        None,
    ),
    "archive_links": (
        say("{n} links, devices and sparse files of {archive} are not read."),
        None,
    ),
    "archive_nested": (say("{n} archives inside of {archive} are not opened."), _UNPACK),
    "archive_encrypted": (
        say("{n} files of {archive} are encrypted."),
        say("Unpack it with its password."),
    ),
    "archive_method": (
        say("{n} files of {archive} are packed with a method that is not read."),
        _UNPACK,
    ),
    "archive_many": (
        say("{archive} has too many files: those after the first 10,000 are not read."),
        _UNPACK,
    ),
    "archive_large": (
        say("{archive} unpacks to more than its limit: the files after that are not read."),
        _UNPACK,
    ),
    "archive_damaged": (
        say("{archive} is damaged, or ends early: the files after that are not read."),
        say("Was it copied whole? Copy it again."),
    ),
}


class Entry(Struct, frozen=True):
    """A file in an archive; ``offset`` is where its content (tar) or its header (zip) begins."""

    name: str
    size: int
    offset: int
    packed_bytes: int
    head: bytes = b""


class Listing(Struct, frozen=True):
    """The files of an archive in its order, and what was refused or is damaged."""

    entries: dict[str, Entry]
    findings: tuple[Finding, ...]


class Member(Struct, frozen=True):
    """A name in an archive, and the status of the archive."""

    archive: str
    name: str
    status: os.stat_result


def split(path: str) -> Member | None:
    """Return the archive and the name in it; None for a path of a file of its own."""
    archive, separator, name = path.partition(_SEPARATOR)
    while separator:
        with contextlib.suppress(OSError, ValueError):  # there is no such path
            status = os.stat(archive)
            if stat.S_ISREG(status.st_mode):
                return Member(archive, name, status)
        following, separator, name = name.partition(_SEPARATOR)
        archive += _SEPARATOR + following
    return None


def join(archive: str, name: str) -> str:
    """Return the path of a file in an archive."""
    return archive + _SEPARATOR + name


def is_archive(path: str) -> bool:
    """Return whether a file's first bytes are those of an archive. Raises OSError."""
    with open(path, "rb") as file:
        return _kind(file) is not None


def listing(path: str) -> Listing:
    """Return the files of an archive. Raises OSError if it cannot be read at all."""
    status = Path(path).stat()
    return _listing(path, status.st_size, status.st_mtime_ns)


def find(member: Member) -> Entry:
    """Return the entry of a file in an archive. Raises OSError, FileNotFoundError if not there."""
    path, status = member.archive, member.status
    entry = _listing(path, status.st_size, status.st_mtime_ns).entries.get(member.name)
    if entry is None:
        raise FileNotFoundError(2, "there is no such file in the archive", join(path, member.name))
    return entry


def open_member(member: Member) -> BinaryIO:
    """Open a file in an archive for reading. Raises OSError."""
    entry = find(member)
    opened: Callable[[], IO[bytes]] = functools.partial(_open, member.archive, entry)
    return cast(BinaryIO, MemberStream(entry.size, entry.packed_bytes, entry.head, opened))


@functools.lru_cache(64)
def _listing(path: str, _size: int, _mtime_ns: int) -> Listing:
    entries: dict[str, Entry] = {}
    refused: Counter[str] = Counter()
    held = 0
    with open(path, "rb") as file:
        kind = _kind(file)
        members = _zip_members(file) if kind == "zip" else _tar_members(file, kind or "")
        try:
            for count, (entry, found) in enumerate(members):
                name = entry.name.replace("\\", "/").removeprefix("./")
                reason = found or _refusal(name)
                if count >= _MOST_FILES:
                    refused["archive_many"] += 1
                    break
                if reason:
                    refused[reason] += 1
                elif not _HIDDEN.match(name):
                    held += len(entry.head)
                    head = entry.head if held <= _HEADS_BYTES else b""
                    entries.setdefault(name, replace(entry, name=name, head=head))
        except TooLarge:
            refused["archive_large"] += 1
        except BROKEN as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the disk
            refused["archive_damaged"] += 1
    findings = (_finding(os.path.basename(path), code, n) for code, n in refused.items())
    return Listing(entries, tuple(findings))


def _refusal(name: str) -> str:
    if _OUTSIDE.match(name):
        return "archive_outside"
    return "archive_nested" if name.lower().endswith(SUFFIXES) else ""


def _finding(archive: str, code: str, count: int) -> Finding:
    message, hint = _REFUSALS[code]
    text = fill(message, archive=archive, n=f"{count:,}")
    return Finding(code, text, hint, count)


def _kind(file: IO[bytes]) -> str | None:
    """Return ``zip``, ``tar``, or what a tar is packed with; None for another file."""
    head = file.read(512)
    file.seek(0)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if _is_tar(head):
        return "tar"
    packing = compressed_files.packing_of(head)
    if packing is None:
        return None
    try:
        found = _is_tar(compressed_files.open_unpacked(file, packing).read(512))
    except compressed_files.BROKEN:
        found = False
    file.seek(0)
    return packing if found else None


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


def _zip_members(file: IO[bytes]) -> Iterator[tuple[Entry, str]]:
    size = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(cast(IO[bytes], Bounded(file))) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            reason = ""
            if info.flag_bits & 1:
                reason = "archive_encrypted"
            elif (info.external_attr >> 16) & 0xF000 not in (0, 0x8000):
                reason = "archive_links"
            elif info.compress_type not in (0, 8, 12, 14):
                reason = "archive_method"
            packed_bytes = min(info.compress_size, size)
            yield Entry(info.filename, info.file_size, info.header_offset, packed_bytes), reason


def _tar_members(file: IO[bytes], kind: str) -> Iterator[tuple[Entry, str]]:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    is_plain = kind == "tar"
    stream = file if is_plain else compressed_files.open_unpacked(file, kind)
    source = InOrder(stream) if is_plain else Forward(stream, compressed_files.most_bytes(size))
    with tarfile.TarFile(fileobj=cast(IO[bytes], source), errorlevel=0) as archive:
        while (info := archive.next()) is not None:
            archive.members = []  # type: ignore[attr-defined]  # else all of them are kept
            if info.isdir():
                continue
            reason = "" if info.isreg() and not info.issparse() else "archive_links"
            head = b""
            if not is_plain and not reason:
                source.seek(info.offset_data)
                head = source.read(min(_HEAD_BYTES, info.size))
            packed_bytes = info.size if is_plain else size
            yield Entry(info.name, info.size, info.offset_data, packed_bytes, head), reason


def _open(path: str, entry: Entry) -> IO[bytes]:
    """Open the content of a file in an archive, to be read forward."""
    file = open(path, "rb")  # noqa: SIM115 - the stream that is returned closes it
    try:
        kind = _kind(file)
        if kind == "zip":
            archive = zipfile.ZipFile(cast(IO[bytes], Bounded(file)))
            places = {info.header_offset: info for info in reversed(archive.infolist())}
            content = archive.open(places[entry.offset])
            return cast(IO[bytes], Bounded(content, archive, file))
        if kind is None or kind == "tar":
            file.seek(entry.offset)
            return file
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        source = Forward(
            compressed_files.open_unpacked(file, kind), compressed_files.most_bytes(size), file
        )
        source.seek(entry.offset)
        return cast(IO[bytes], source)
    except BaseException:
        file.close()
        raise
