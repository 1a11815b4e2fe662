"""Recordings that change while they are read: never a wrong figure in silence, always a word."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.jobs import CHANGED
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tests.support.changing_files import CHANGES, FORMS, Change, Step, copied, fails
from tests.support.moments import Moments, counted
from tests.support.repeats import repeats
from tests.support.same import digest

COUNT = 3_000


def content(trace: Trace) -> str:
    """Return a digest of all but the size and the rank, which are those of the search."""
    return digest(replace(trace, meta=replace(trace.meta, size_bytes=0, rank=None)))


def quiet(folder: Path | str, cache: Path | None = None) -> str:
    """Return what an undisturbed read of a folder gives: a digest, or the code of an error."""
    try:
        files = catalog.scan(str(folder), READERS).find()
        return content(Store(0, cache or Path(f"{folder} cache")).trace(files))
    except TraceError as error:
        return error.code


def _word(error: TraceError, beginning: str = "") -> str:
    """Return the code of an error in words; a mistake of ours has none."""
    if error.code == "internal" or not error.code.startswith(beginning):
        raise AssertionError(error.message)
    return error.code


class Case:
    """One recording that changes while it is read, by its seed."""

    def __init__(self, seed: int, form: str, change: str, folder: Path) -> None:
        self.rng = random.Random(f"{seed} {form} {change}")
        self.change, self.top, self.log, other = change, folder, folder / "log", folder / "other"
        for version, place in enumerate((self.log, other)):
            place.mkdir(parents=True)
            FORMS[form](place, version)
        self.steps: list[Step] = CHANGES[change](Change(self.rng, self.log, other))
        self.states = [copied(self.log, folder / "state 0")]
        self.cache = folder / "cache"

    def outcome(self) -> str:
        """Read it while it changes, then when it is quiet; return what the first read gave."""
        try:
            files = catalog.scan(str(self.log), READERS).find()
        except TraceError as error:  # the beginning of an archive: it is not listed
            return error.code
        with counted(Moments(self.log)) as probe:
            self._read(Store(0, self.top / "probe"), files)
        times = sorted(self.rng.randrange(probe.count) for _ in self.steps)
        broken = range(0)
        if not self.steps:
            first = self.rng.randrange(probe.count)
            broken = range(first, first + self.rng.choice((1, 2, 5, 1000)))

        def happens(now: int) -> None:
            while times and times[0] <= now:
                times.pop(0)
                self.steps.pop(0)()
                self.states.append(copied(self.log, self.top / f"state {len(self.states)}"))
            if now in broken:
                raise fails(self.rng)

        store = Store(0, self.cache)
        with counted(Moments(self.log, happens)):
            found = self._read(store, files)
        self._judge(found)
        for step in self.steps:  # those whose moment did not come
            step()
        self._later(store)
        return found if isinstance(found, str) else "trace"

    def _read(self, store: Store, files: TraceFiles) -> Trace | str:
        try:
            return store.trace(files)
        except TraceError as error:
            return _word(error)

    def _judge(self, found: Trace | str) -> None:
        if isinstance(found, Trace):
            has_word = any(one.code == CHANGED for one in found.meta.findings)
            assert has_word or content(found) in {quiet(state) for state in self.states}

    def _later(self, store: Store) -> None:
        """Nothing of the disturbed read is left: not in memory, nor on disk."""
        expected = quiet(self.log)
        for made in (store, Store(0, self.cache)):
            try:
                files = catalog.scan(str(self.log), READERS).find()
                found = content(made.trace(files))
            except TraceError as error:
                found = error.code
            if self.change == "the mount is stale" and found == "unreadable":
                continue  # it is asked for again after a minute
            assert found == expected


@pytest.fixture
def objects() -> Iterator[Any]:
    """A store of objects in memory."""
    fsspec = pytest.importorskip("fsspec")
    made = fsspec.filesystem("memory")
    yield made
    made.store.clear()


def put(objects: Any, folder: Path, url: str) -> None:
    """Put all files of a folder below a URL."""
    for path in folder.rglob("*"):
        if path.is_file():
            objects.pipe_file(f"{url}/{path.relative_to(folder).as_posix()}", path.read_bytes())


@pytest.mark.long
def test_nor_of_a_changing_object(
    objects: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is replaced between two requests; each request sees one version."""
    outcomes = Counter[str]()
    fetch, before = type(objects).cat_file, Moments(tmp_path)

    def fetched(own: Any, *asked: Any, **options: Any) -> Any:
        before.passes()
        return fetch(own, *asked, **options)

    monkeypatch.setattr(type(objects), "cat_file", fetched)
    for seed in range(repeats(180, 20)):
        rng, form = random.Random(seed), list(FORMS)[seed % len(FORMS)]
        url, states = f"memory://log/{seed}", [tmp_path / f"{seed}-{i}" for i in range(2)]
        for version, place in enumerate(states):
            place.mkdir()
            FORMS[form](place, version)
        put(objects, states[0], url)
        try:
            files = catalog.scan(url, READERS).find()
        except TraceError as error:  # archives of object stores are not opened
            outcomes[error.code] += 1
            continue
        at, after = rng.randrange(4), states[1]

        def happens(now: int, at: int = at, after: Path = after, url: str = url) -> None:
            if now == at:
                put(objects, after, url)

        before = Moments(tmp_path, happens)
        store = Store(0, tmp_path / "cache")
        known = {quiet(place, tmp_path / "quiet") for place in states}
        try:
            found = content(store.trace(files))
        except TraceError as error:
            found = _word(error, "remote_")
        else:
            assert found in known, (form, seed)
        before = Moments(tmp_path)
        outcomes["trace" if found in known else found] += 1
        assert content(store.trace(catalog.scan(url, READERS).find())) == quiet(
            url, tmp_path / "other"
        )
    assert {"trace", "remote_changed"} <= set(outcomes), outcomes


@pytest.mark.long
@pytest.mark.parametrize("change", CHANGES)
def test_no_figure_of_a_changing_file_is_wrong_in_silence(change: str, tmp_path: Path) -> None:
    """Of each seed another form; what a quiet read of a version gives, or a word."""
    count = repeats(COUNT // len(CHANGES), 20)
    wrong, outcomes = [], Counter[str]()
    for seed in range(count):
        form = list(FORMS)[seed % len(FORMS)]
        name = hashlib.sha256(f"{seed} {change}".encode()).hexdigest()[:12]
        try:
            outcomes[Case(seed, form, change, tmp_path / name).outcome()] += 1
        except AssertionError as error:
            wrong.append(f"{form}, seed {seed}: {str(error)[:200]}")
    assert not wrong, (len(wrong), wrong[:20])
    assert outcomes.total() == count
