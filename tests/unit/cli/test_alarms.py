"""A program's own alarms ring on while it exports or ingests: nothing takes or blocks them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tb_privateuse1 import cli
from tb_privateuse1.export import formats
from tests.support.trace_files import trace

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms")

_EVERY_S = 0.001
_FORMATS = {"chrome": "o.json", "perfetto": "o.pftrace", "stacks": "o.txt", "csv": "o.zip"}


class Alarms:
    """Counts the alarms that reached the program's handler."""

    def __init__(self) -> None:
        self.count = 0
        self.error: type[Exception] | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.error:
            raise self.error


@pytest.fixture
def alarms() -> Iterator[Alarms]:
    """The handler of the program."""
    made = Alarms()
    before = signal.signal(signal.SIGALRM, made)
    yield made
    assert signal.getsignal(signal.SIGALRM) is made
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trace, and an empty cache."""
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", str(tmp_path / "cache"))
    return trace(tmp_path / "log" / "run" / "host_1.1.pt.trace.json")


def rung(alarms: Alarms, *arguments: object) -> int:
    """The alarms that came during a command, which must succeed; they go on behind it."""
    before = alarms.count
    signal.setitimer(signal.ITIMER_REAL, _EVERY_S, _EVERY_S)
    assert cli.main([*map(str, arguments)]) == 0
    after = alarms.count
    assert signal.getitimer(signal.ITIMER_REAL)[1] == pytest.approx(_EVERY_S)
    while alarms.count == after:  # the handler is still reached
        signal.sigtimedwait([], _EVERY_S)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return after - before


@pytest.mark.parametrize("form", _FORMATS)
def test_during_an_export(form: str, file: Path, alarms: Alarms, tmp_path: Path) -> None:
    quiet, loud = tmp_path / "quiet", tmp_path / "loud"
    for folder in (quiet, loud):
        folder.mkdir()
    name = _FORMATS[form]
    assert cli.main(["export", str(file), "--format", form, "-o", str(quiet / name)]) == 0
    assert rung(alarms, "export", file, "--format", form, "-o", loud / name) > 0
    assert (loud / name).stat().st_size == (quiet / name).stat().st_size


def test_during_an_ingest(file: Path, alarms: Alarms) -> None:
    assert rung(alarms, "ingest", file.parents[1]) > 0
    assert rung(alarms, "ingest", file.parents[1], "--force") > 0


def test_an_alarm_that_ends_an_export_leaves_no_half_file(
    file: Path, alarms: Alarms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program may give an export so much time: its handler raises."""
    made = formats._parts

    def ringing(*arguments: Any) -> Iterator[bytes]:
        parts = made(*arguments)
        yield next(parts)
        signal.raise_signal(signal.SIGALRM)
        yield from parts

    monkeypatch.setattr(formats, "_parts", ringing)
    alarms.error = TimeoutError
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(TimeoutError):  # an OSError, but no fault of the file
        cli.main(["export", str(file), "--format", "chrome", "-o", str(out / "o.json")])
    assert alarms.count == 1
    assert list(out.iterdir()) == []
