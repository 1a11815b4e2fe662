"""The cache directory: its bound, what goes first, and what others do at the same time."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

import pytest

from tb_privateuse1.storage import cache_directory, file_lock

NAMES = [f"{n:032x}.arrow" for n in range(1, 9)]
LOCK = f".{1:032x}.lock"
HALF = f".{1:032x}.arrow.{2:016x}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that may take 5000 bytes and has 8 files of 1000, the first used longest ago."""
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE_BYTES", "5k")
    folder = tmp_path / "cache"
    folder.mkdir()
    for n, name in enumerate(NAMES):
        (folder / name).write_bytes(b"x" * 1000)
        os.utime(folder / name, (n + 1, n + 1))
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_was_not_used_for_longest_goes_first(folder: Path) -> None:
    cache_directory.touch(folder / NAMES[1])
    cache_directory.make_room(folder, keep=folder / NAMES[0])
    assert names(folder) == [NAMES[0], NAMES[1], *NAMES[5:]]
    cache_directory.make_room(folder)
    assert len(names(folder)) == 5


def test_the_one_just_written_stays_even_if_it_is_too_large(folder: Path) -> None:
    (folder / NAMES[0]).write_bytes(b"x" * 9000)
    os.utime(folder / NAMES[0], (1, 1))
    cache_directory.make_room(folder, keep=folder / NAMES[0])
    assert names(folder) == [NAMES[0]]


def test_a_part_outlives_its_trace_and_goes_by_a_bound_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_PART_BYTES", "150")
    parts = [cache_directory.part_path(folder / name).name for name in NAMES]
    for n, name in enumerate(parts):
        (folder / name).write_bytes(b"x" * 30)
        os.utime(folder / name, (n + 1, n + 1))
    cache_directory.touch(folder / parts[1])
    cache_directory.make_room(folder, keep=folder / NAMES[0])
    assert names(folder) == sorted([NAMES[0], *NAMES[4:], parts[0], parts[1], *parts[5:]])
    found = cache_directory.disk_use(folder)
    assert (found.traces, found.bytes, found.limit_bytes) == (5, 5000, 5000)
    assert (found.parts, found.part_bytes, found.part_limit_bytes) == (5, 150, 150)
    assert cache_directory.remove(folder / NAMES[7])
    assert parts[7] not in names(folder), "it goes with a trace that is removed on purpose"
    assert cache_directory.clear(folder).parts == 0
    assert names(folder) == []


def test_at_most_as_much_as_is_left_on_the_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = cache_directory.shutil.disk_usage(folder)._replace(free=-4000)  # (-4000 + 8000) / 2
    monkeypatch.setattr(cache_directory.shutil, "disk_usage", lambda _: usage)
    cache_directory.make_room(folder)
    assert names(folder) == NAMES[6:]


def test_foreign_files_are_left_alone(folder: Path, tmp_path: Path) -> None:
    foreign = ["notes.txt", "x.arrow", f"{1:032x}.arrow.bak", f".{1:032x}.arrow", ".hidden"]
    for name in foreign:
        (folder / name).write_bytes(b"x" * 100_000)
        os.utime(folder / name, (0, 0))
    (folder / f"{99:032x}.arrow").mkdir()
    (tmp_path / "outside").write_bytes(b"x" * 9999)
    (folder / f"{98:032x}.arrow").symlink_to(tmp_path / "outside")
    (folder / f".{97:032x}.lock").symlink_to(tmp_path / "outside")
    cache_directory.make_room(folder)
    kept = [*foreign, f"{99:032x}.arrow", f"{98:032x}.arrow", f".{97:032x}.lock", *NAMES[3:]]
    assert names(folder) == sorted(kept)
    assert (tmp_path / "outside").stat().st_size == 9999


def test_what_cannot_be_removed_is_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user's; on Windows, what another process has open."""
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path.name in NAMES[:2]:
            raise PermissionError(errno.EACCES, "Permission denied")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    cache_directory.make_room(folder)
    assert names(folder) == [*NAMES[:2], *NAMES[5:]]


def test_others_remove_at_the_same_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = cache_directory.shutil.disk_usage

    def meanwhile(path: Path) -> object:
        (folder / NAMES[0]).unlink()
        return usage(path)

    monkeypatch.setattr(cache_directory.shutil, "disk_usage", meanwhile)
    cache_directory.make_room(folder)
    assert names(folder) == NAMES[3:]


def test_a_directory_that_is_deleted_meanwhile(folder: Path) -> None:
    stop = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            while not stop.is_set():
                cache_directory.make_room(folder)
                # Writing may fail then; making room may not.
                with (
                    contextlib.suppress(OSError),
                    cache_directory.replacing(folder / NAMES[0]) as file,
                ):
                    file.write(b"y")
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(200):
        cache_directory.shutil.rmtree(folder, ignore_errors=True)
    stop.set()
    thread.join()
    assert errors == []
    cache_directory.make_room(folder.with_name("nowhere"))


def test_what_dead_writers_left_is_swept(folder: Path) -> None:
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from tb_privateuse1.storage import cache_directory\n"
        f"claim = cache_directory.claim(Path(sys.argv[1], {NAMES[0]!r}))\n"
        f"with cache_directory.replacing(Path(sys.argv[1], {NAMES[0]!r})) as file:\n"
        "    file.write(b'half'); file.flush(); print('ready', flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline()
        during = [name for name in names(folder) if name.startswith(".")]
        assert len(during) == 2
        cache_directory.make_room(folder)
        assert [n for n in names(folder) if n.startswith(".")] == during  # it lives
        assert cache_directory.claim(folder / NAMES[0]) is None
        writer.kill()
    assert [n for n in names(folder) if n.startswith(".")] == during
    claim = cache_directory.claim(folder / NAMES[0])  # a dead one's lock blocks nobody
    assert claim is not None
    cache_directory.make_room(folder)
    assert [n for n in names(folder) if n.startswith(".")] == [LOCK]
    with claim:
        pass
    assert names(folder) == NAMES[3:]


@pytest.mark.parametrize("held", [False, True])
def test_a_sweep_between_making_and_locking_costs_nothing(
    folder: Path, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another server takes a file without a lock for a dead writer's; or is about to."""
    locked, swept = file_lock.try_lock, False

    def slow(descriptor: int) -> bool:
        nonlocal swept
        if swept:
            return locked(descriptor)
        swept = True
        if held:
            return False
        cache_directory.make_room(folder)
        return locked(descriptor)

    monkeypatch.setattr(file_lock, "try_lock", slow)
    with cache_directory.replacing(folder / NAMES[0]) as file:
        monkeypatch.undo()
        cache_directory.make_room(folder)
        file.write(b"whole")
    assert swept
    assert (folder / NAMES[0]).read_bytes() == b"whole"
    assert [name for name in names(folder) if name.startswith(".")] == []


def test_without_locks_half_a_file_stays_for_a_day(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_: int) -> NoReturn:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(file_lock, "try_lock", none)
    (folder / HALF).write_bytes(b"half")
    (folder / LOCK).write_bytes(b"")
    os.utime(folder / LOCK, (1, 1))
    cache_directory.make_room(folder)
    assert names(folder) == [HALF, *NAMES[3:]]
    with pytest.raises(OSError, match="No locks"):
        cache_directory.claim(folder / NAMES[0])
    with cache_directory.replacing(folder / NAMES[0]) as file:
        file.write(b"whole")
    assert (folder / NAMES[0]).read_bytes() == b"whole"


@pytest.mark.long
def test_one_of_many_has_the_claim(folder: Path) -> None:
    """However often it is given back, and its file removed, at the same time."""
    inside, most, done = 0, 0, 0
    guard = threading.Lock()
    end = time.monotonic() + 1

    def work() -> None:
        nonlocal inside, most, done
        while time.monotonic() < end:
            claim = cache_directory.claim(folder / NAMES[0])
            if claim is None:
                continue
            with claim:
                with guard:
                    inside += 1
                    most = max(most, inside)
                with guard:
                    inside -= 1
                    done += 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert done > 10
    assert LOCK not in names(folder)


def test_a_claim_shows_that_it_goes_on(folder: Path) -> None:
    path = folder / NAMES[0]
    assert cache_directory.beat_ns(path) == 0
    claim = cache_directory.claim(path)
    assert claim is not None
    with claim:
        os.utime(folder / LOCK, (1, 1))
        assert cache_directory.beat_ns(path) == 10**9
        claim.beat()
        assert cache_directory.beat_ns(path) > 10**9


@pytest.mark.parametrize(
    ("text", "bytes"),
    [("", 20 * 10**9), ("0", 0), ("7", 7), ("500M", 500 * 10**6), ("2 GB", 2 * 10**9)],
)
def test_the_bound(monkeypatch: pytest.MonkeyPatch, text: str, bytes: int) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE_BYTES", text)
    assert cache_directory.limit_bytes() == bytes


@pytest.mark.parametrize("text", ["much", "-1", "1.5G", "9" * 5000, "1X"])
def test_a_bound_that_is_none(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE_BYTES", text)
    with caplog.at_level(logging.WARNING):
        assert cache_directory.limit_bytes() == cache_directory.LIMIT_BYTES
    assert "no number of bytes" in caplog.text


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", str(tmp_path))
    assert cache_directory.cache_directory() == tmp_path
    assert cache_directory.cache_directories("/log/r/t.json") == [tmp_path]
    monkeypatch.delenv("TB_PRIVATEUSE1_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_directory.cache_directory() == Path("/x/tb_privateuse1")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert cache_directory.cache_directory() == Path("/h/.cache/tb_privateuse1")


def test_beside_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", "beside")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    users = Path("/x/tb_privateuse1")
    hidden = tmp_path / ".tb_privateuse1"
    assert cache_directory.cache_directories(str(tmp_path / "t.json")) == [hidden, users]
    assert cache_directory.cache_directories("s3://bucket/t.json") == [users]
    hidden.symlink_to("/etc")
    assert cache_directory.cache_directories(str(tmp_path / "t.json")) == [users]


def test_modes(tmp_path: Path) -> None:
    """The user's cache is the user's; beside a run it is for whoever may read the run."""
    umask = os.umask(0o022)
    try:
        for name, mode in (("cache", 0o700), (cache_directory.HIDDEN, 0o755)):
            with cache_directory.replacing(tmp_path / name / NAMES[0]) as file:
                file.write(b"x")
            assert (tmp_path / name).stat().st_mode & 0o777 == mode
    finally:
        os.umask(umask)


def test_new_files_cost_few_looks_at_all_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """400 traces of 10 bytes with parts of 5: a look for each 100, not for each."""
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE_BYTES", "1M")
    looks = 0
    whole = cache_directory.make_room

    def counted(directory: Path, keep: Path | None = None, to: float = 1.0) -> tuple[int, int]:
        nonlocal looks
        looks += 1
        return whole(directory, keep, to)

    monkeypatch.setattr(cache_directory, "make_room", counted)
    room = cache_directory.Room()
    for n in range(100, 500):
        path = folder / f"{n:032x}.arrow"
        path.write_bytes(b"x" * 10)
        cache_directory.part_path(path).write_bytes(b"x" * 5)
        room.wrote(path)
    assert looks == 4


@pytest.mark.parametrize("variable", ["PART", "CACHE"])
def test_a_full_directory_costs_few_looks_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """A bound of 400 files: 400 more cost a look for each 20, half of the tenth that goes.

    The room after such a look is halved until the bound is reached: six more looks in each tenth.
    """
    monkeypatch.setenv(f"TB_PRIVATEUSE1_{variable}_BYTES", "4k")
    looks = 0
    whole = cache_directory._stored

    def counted(directory: Path) -> object:
        nonlocal looks
        looks += 1
        return whole(directory)

    monkeypatch.setattr(cache_directory, "_stored", counted)
    room = cache_directory.Room()

    def write(first: int, end: int) -> int:
        before = looks
        for n in range(first, end):
            path = tmp_path / f"{n:032x}.arrow"
            (cache_directory.part_path(path) if variable == "PART" else path).write_bytes(b"x" * 10)
            room.wrote(path)
        return looks - before

    write(1, 401)
    assert write(401, 801) <= 10 * (1 + 6)
    use = cache_directory.disk_use(tmp_path)
    assert 3600 <= use.bytes + use.part_bytes <= 4000


def test_no_new_file_makes_a_directory_exceed_its_bounds(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_PART_BYTES", "3k")
    room = cache_directory.Room()
    for n in range(100, 130):
        path = folder / f"{n:032x}.arrow"
        path.write_bytes(b"x" * (n % 7) * 100)
        cache_directory.pyramid_path(path).write_bytes(b"x" * (n % 5) * 100)
        cache_directory.part_path(path).write_bytes(b"x" * (n % 3) * 200)
        room.wrote(path)
        use = cache_directory.disk_use(folder)
        assert (use.bytes <= 5000, use.part_bytes <= 3000) == (True, True)
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE_BYTES", "1k")
    room.wrote(path)
    assert cache_directory.disk_use(folder).bytes <= 1000
