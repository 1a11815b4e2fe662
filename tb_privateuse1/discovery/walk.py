"""Walk a directory tree for the files of traces and sidecars.

Symbolic links are followed, unless those that lead out of the root are refused: where several
people write into a logdir, a server would show each of them what it may read. Every real directory
is visited once, under its real name if it has one below the root, so links cannot make a loop or
list a run twice. Hidden files and directories are skipped (``.git``, half-written files of our
capture), as is everything that is not a regular file. The same holds for a URL, except that links
are not followed.
"""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from tb_privateuse1.discovery import archive, compressed_files, remote
from tb_privateuse1.discovery.file import File, printable, remote_file
from tb_privateuse1.discovery.formats import (
    Format,
    folders,
    is_own_name,
    is_part,
    other_suffixes,
    suffixes,
)
from tb_privateuse1.discovery.recording_folders import parents_first
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.findings import Finding

_SIDECAR_SUFFIXES = (".json", *(".json" + end for end in compressed_files.SUFFIXES))
_NAMED = 5
_NAMES = 20_000
"""Names whose test is remembered: a search every five seconds meets the same ones."""
_Test = Callable[[str], bool]


def directories(
    root: str,
    warnings: list[Finding],
    formats: Sequence[Format],
    unread: list[str],
    *,
    links_out: bool = True,
) -> Iterator[tuple[str, list[File]]]:
    """Yield each directory from ``root`` down: its path from the root (``.``), its files.

    Only files with a suffix of these formats, of other known files or of a sidecar are listed. An
    unreadable directory is a warning, a vanished file is skipped. ``unread`` gets the URLs of
    remote directories and files that exist but cannot be read now. Local folders that are one
    recording (``Format.folder``) follow their parent directly. Without ``links_out``, links that
    lead out of a local root are a warning. Raises ``remote.RemoteError`` if a URL cannot be listed
    at all.
    """
    if remote.is_url(root):
        for directory, statuses in remote.walk(
            root, _visible, _name_test(formats), warnings, unread
        ):
            yield directory, _by_name(map(remote_file, statuses))
        return
    if is_archive(root):
        yield from _archived(root, ".", warnings, formats)
        return
    yield from _local(root, warnings, formats, links_out=links_out)


def _local(
    root: str, warnings: list[Finding], formats: Sequence[Format], *, links_out: bool
) -> Iterator[tuple[str, list[File]]]:
    """Yield the directories of a local root as ``directories`` does."""
    wanted, first = _name_test(formats), _recordings_first(formats)
    boundary = _Boundary(None if links_out else Path(root).resolve())
    seen: set[tuple[int, int]] = set()
    pending, links = [Path()], list[Path]()
    archives: list[tuple[str, str]] = []
    while pending or links:
        below = pending.pop() if pending else links.pop()
        path = Path(root, below)
        try:
            status = path.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(path) as entries:
                real, linked, files = _sort(
                    entries,
                    lambda name: wanted(name) or name.lower().endswith(archive.SUFFIXES),
                    boundary,
                )
        except OSError as error:
            message = say(
                "The directory {path} cannot be read: {error}.",
                path=printable(str(below)),
                error=error.strerror,
            )
            warnings.append(Finding("unreadable_directory", message))
            continue
        pending += [Path(below, name) for name in sorted(real, key=first, reverse=True)]
        # Links wait until all real directories have been seen under their own names.
        links += [Path(below, name) for name in sorted(linked, reverse=True)]
        packs = [file for file in files if file.name.lower().endswith(archive.SUFFIXES)]
        archives += [((below / file.name).as_posix(), file.path) for file in packs]
        yield str(below), [file for file in files if file not in packs] if packs else files
    if boundary.refused:
        warnings.append(boundary.finding())
    # A folder of a recording must follow its parent, so that archives are the last.
    for name, found in sorted(archives):
        if is_archive(found):
            yield from _archived(found, name, warnings, formats)


def _archived(
    path: str, below: str, warnings: list[Finding], formats: Sequence[Format]
) -> Iterator[tuple[str, list[File]]]:
    """Yield the directories in an archive as ``directories`` does, each below its path."""
    wanted = _name_test(formats)
    try:
        listing = archive.listing(path)
        mtime_ns = Path(path).stat().st_mtime_ns
    except OSError as error:
        message = say(
            "The archive {path} cannot be read: {error}.", path=printable(path), error=error
        )
        warnings.append(Finding("archive_unreadable", message))
        return
    warnings += listing.findings
    held: dict[str, list[File]] = {".": []}
    for name, entry in listing.entries.items():
        folder, _, base = name.rpartition("/")
        if wanted(base):
            file = File(archive.join(path, name), entry.size, mtime_ns)
            held.setdefault(folder or ".", []).append(file)
    for folder, files in parents_first(held.items(), formats):
        yield (Path(below) / folder).as_posix(), _by_name(files)


def is_archive(path: str) -> bool:
    """Return whether a path is an archive of this machine."""
    try:
        return not remote.is_url(path) and Path(path).is_file() and archive.is_archive(path)
    except OSError:  # what reads it says why
        return False


class _Boundary:
    """Refuses links that lead out of ``root``; None refuses none."""

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self.refused: list[str] = []

    def has(self, entry: os.DirEntry[str]) -> bool:
        """Return whether an entry may be read. Raises OSError for what has vanished."""
        if self._root is None or not entry.is_symlink():
            return True
        try:  # Path.resolve raises RuntimeError for links in a circle, before Python 3.13
            target = os.path.realpath(entry.path, strict=True)
        except OSError as error:
            if error.errno == errno.ELOOP:
                self.refused.append(entry.name)
                return False
            raise
        is_inside = Path(target).is_relative_to(self._root)
        if not is_inside:
            self.refused.append(entry.name)
        return is_inside

    def finding(self) -> Finding:
        """Return the warning about what was refused."""
        names = ", ".join(map(printable, self.refused[:_NAMED]))
        message = say(
            "{count} links lead out of the logdir or in a circle and are not followed: {names}.",
            count=len(self.refused),
            names=names,
        )
        hint = say("TB_PRIVATEUSE1_LINKS=follow follows them: see docs/guide/shared-server.md.")
        return Finding("links_out", message, hint, len(self.refused))


def files_of(directory: str, formats: Sequence[Format]) -> list[File]:
    """Return such files of one directory. Raises OSError, for a URL ``remote.RemoteError``."""
    wanted = _name_test(formats)
    if remote.is_url(directory):
        return _by_name(map(remote_file, remote.files_of(directory, wanted)))
    with os.scandir(directory) as entries:
        return _sort(entries, wanted, _Boundary(None))[2]


def is_file(path: str) -> bool:
    """Return whether a path is a file, not a directory. Raises ``remote.RemoteError`` for a URL."""
    return remote.is_file(path) if remote.is_url(path) else Path(path).is_file()


def _visible(name: str) -> bool:
    return not name.startswith(".")


def _name_test(formats: Sequence[Format]) -> _Test:
    """Return the test by which a file's name says that the file may be of use."""
    return _cached_test(tuple(formats))


@functools.lru_cache(4)
def _cached_test(formats: tuple[Format, ...]) -> _Test:
    ends = (*suffixes(formats), *_SIDECAR_SUFFIXES, *other_suffixes(formats))
    return functools.lru_cache(_NAMES)(
        lambda name: (
            _visible(name)
            and (
                name.lower().endswith(ends) or is_part(name, formats) or is_own_name(name, formats)
            )
        )
    )


def _recordings_first(formats: Sequence[Format]) -> Callable[[str], tuple[bool, str]]:
    """Return the sort key of directories' names that has folders of recordings before others."""
    known = folders(formats)
    return lambda name: (not any(folder.names.search(name) for folder in known), name)


def _by_name(files: Iterable[File]) -> list[File]:
    return sorted(files, key=lambda file: file.name)


def _sort(
    entries: Iterator[os.DirEntry[str]], wanted: _Test, boundary: _Boundary
) -> tuple[list[str], list[str], list[File]]:
    real: list[str] = []
    linked: list[str] = []
    files: list[File] = []
    for entry in entries:
        if not _visible(entry.name):
            continue
        try:
            if not boundary.has(entry):
                continue
            if entry.is_dir():
                (linked if entry.is_symlink() else real).append(entry.name)
            elif wanted(entry.name) and entry.is_file():
                status = entry.stat()
                files.append(File(entry.path, status.st_size, status.st_mtime_ns))
        except OSError:  # deleted since, or a link in a circle
            continue
    return real, linked, _by_name(files)
