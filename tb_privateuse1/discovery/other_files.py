"""Say what a logdir has that is recognized, and is no recording by itself.

A file that a recording of its directory is read with needs no word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tb_privateuse1.discovery.compressed_files import unpacked_name
from tb_privateuse1.discovery.file import printable
from tb_privateuse1.discovery.formats import OtherKind, is_own_name
from tb_privateuse1.discovery.recording_folders import Directory
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.discovery.trace_head import Heads
from tb_privateuse1.i18n import fill, say
from tb_privateuse1.trace.findings import Finding

CODE = "other_files"


def of_directory(
    directory: Directory, recordings: Iterable[TraceFiles], heads: Heads
) -> list[tuple[str, OtherKind]]:
    """Return a directory's own files that no recording is read with: path and kind of each."""
    # A packed copy is the same file.
    used = {unpacked_name(file.name) for one in recordings for file in one.own}
    left = [
        file
        for file in directory.files
        if unpacked_name(file.name) not in used and not is_own_name(file.name, heads.formats)
    ]
    return [
        (printable(Path(directory.below, file.name).as_posix()), kind)
        for file in left
        if (kind := heads.trace(file).other) is not None and kind.is_listed
    ]


def findings(found: Sequence[tuple[str, OtherKind]]) -> list[Finding]:
    """Return a finding for each kind of files, about the first of them."""
    paths: dict[OtherKind, list[str]] = {}
    for path, kind in found:
        paths.setdefault(kind, []).append(path)
    return [_finding(kind, of_kind) for kind, of_kind in paths.items()]


def _finding(kind: OtherKind, paths: Sequence[str]) -> Finding:
    message = fill(kind.message, path=paths[0])
    if len(paths) > 1:
        message = say("{first} Files of this kind: {count:,}.", first=message, count=len(paths))
    return Finding(CODE, message, kind.hint, len(paths), "info")
