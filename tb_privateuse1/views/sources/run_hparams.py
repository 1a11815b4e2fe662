"""Find the hyperparameters that TensorBoard has of a recording's run.

They are in event files of the recording's folder, or of a folder in it that is no run itself:
``SummaryWriter.add_hparams`` writes into a folder of its own. XProf's layout has the recordings in
``plugins/profile/TIME`` of the run's folder. Only local folders are looked into.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from functools import lru_cache

from msgspec import Struct

from tb_privateuse1.discovery.catalog import Catalog
from tb_privateuse1.readers.event_files import Value, hyperparameters, is_event_file
from tb_privateuse1.trace.run_parameters import RunParameter, parameters
from tb_privateuse1.views.request import Selection
from tb_privateuse1.views.sources import Catalogs

_MOST_FILES = 64
"""A run that was restarted has some event files; each begins with its session's parameters."""
_PROFILES = ("plugins", "profile")
"""The folders between a run and its recordings, in XProf's layout."""


def run_hparams(run: str, path: str, folders: Collection[str]) -> tuple[RunParameter, ...]:
    """Return the hyperparameters of a run, by the path of its recording.

    ``folders`` are those of all recordings: theirs are not this run's. Sessions that contradict
    each other leave the parameter out.
    """
    folder = os.path.dirname(path)
    if tuple(run.split("/")[-3:-1]) == _PROFILES:
        folder = os.path.dirname(os.path.dirname(os.path.dirname(folder)))
    found: dict[str, Value] = {}
    contradicted: set[str] = set()
    for file in _event_files(folder, folders):
        for name, value in file.items():
            # As texts: NaN is not equal to itself.
            if repr(found.setdefault(name, value)) != repr(value):
                contradicted.add(name)
    kept = {name: value for name, value in found.items() if name not in contradicted}
    return parameters(kept, "hparams")


def selected_hparams(catalogs: Catalogs, selection: Selection) -> tuple[RunParameter, ...]:
    """Return the hyperparameters of the run of a selection; none of a remote one.

    The run was found before: nothing is waited for. Raises TraceError if it is gone since.
    """
    catalog = catalogs if isinstance(catalogs, Catalog) else catalogs.catalog()
    files = catalog.find(selection.run, selection.rank, selection.span)
    if files.trace.is_remote:
        return ()
    run = selection.run or catalog.runs.runs[0].run
    folders = {os.path.dirname(one.trace.path) for one in catalog.files.values()}
    return run_hparams(run, files.trace.path, folders)


def _event_files(folder: str, folders: Collection[str]) -> Iterator[dict[str, Value]]:
    """Yield the parameters of each event file of a folder and those below that are no runs."""
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
        inner = [
            one.path
            for one in entries
            if one.is_dir(follow_symlinks=False) and one.path not in folders
        ]
        files = [*_files(entries), *(file for one in inner for file in _files(os.scandir(one)))]
    except OSError:
        return
    for file in files[:_MOST_FILES]:
        try:
            state = file.stat(follow_symlinks=False)
            yield _read(_EventFile(file.path, state.st_size, state.st_mtime_ns))
        except OSError:
            continue


def _files(entries: Iterator[os.DirEntry[str]] | list[os.DirEntry[str]]) -> list[os.DirEntry[str]]:
    chosen = [one for one in entries if is_event_file(one.name)]
    return sorted(
        (one for one in chosen if one.is_file(follow_symlinks=False)), key=lambda one: one.name
    )


class _EventFile(Struct, frozen=True):
    """A file in one of its states."""

    path: str
    size: int
    modified_ns: int


@lru_cache(maxsize=4096)
def _read(file: _EventFile) -> dict[str, Value]:
    """Return the parameters of an event file in a state."""
    return hyperparameters(file.path)
