"""Store the reductions of a group of ranks in one file: ten thousand ranks are eighty files.

The file's name is a digest of the keys of its traces, so that a group with one other trace is
another file. It is written beside the parts of the single ranks, once all of them are known, and
has their bound. To read it opens, checks and decodes one file instead of one per rank.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from tb_privateuse1.analysis.ranks.collectives import RankPart
from tb_privateuse1.discovery.trace_files import TraceFiles, is_unchanged
from tb_privateuse1.storage import cache_directory, disk_cache, part_file
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.vendors.user_file import Vendors

RANKS = 128
"""The ranks of a group."""


def find_group(
    traces: Sequence[TraceFiles], cache_dir: Path | None, vendors: Vendors
) -> tuple[RankPart, ...]:
    """Return the parts of these traces, in their order; none unless they are stored together.

    ``cache_dir`` and ``vendors`` are those of the store (``Store``).
    """
    for path in _paths(traces, cache_dir, vendors):
        parts = part_file.read_parts(path)
        if len(parts) == len(traces):
            return parts
    return ()


def keep_group(
    traces: Sequence[TraceFiles],
    parts: Sequence[RankPart],
    cache_dir: Path | None,
    vendors: Vendors,
) -> None:
    """Store the parts of these traces together, unless a trace has changed or there is no room."""
    if not all(map(is_unchanged, traces)):
        return
    for path in _paths(traces, cache_dir, vendors):
        with contextlib.suppress(OSError, ValueError):
            part_file.write_content(part_file.combine([*map(part_file.pack, parts)]), path)
            cache_directory.make_room(path.parent, keep=path)
            return


def _paths(traces: Sequence[TraceFiles], cache_dir: Path | None, vendors: Vendors) -> list[Path]:
    try:
        keys = [disk_cache.cache_key(files, vendors) for files in traces]
    except (OSError, TraceError):  # one cannot be read: the others have parts of their own
        return []
    key = hashlib.sha256(json.dumps(keys).encode()).hexdigest()[:32]
    folders = cache_directory.cache_directories(traces[0].trace.path, cache_dir)
    return [folder / f"{key}.arrow" for folder in folders]
