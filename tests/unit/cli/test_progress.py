"""Progress in the terminal and in a log: words, redraws, durations and sizes."""

from __future__ import annotations

import io

import pytest

from tb_privateuse1.cli import progress
from tb_privateuse1.cli.progress import Line, State, drawn, duration, seconds_left, size

HALF = State("3 of 6 traces", 2_400_000_000, 4_800_000_000, 8_120_000, 10.0)
WORDS = "3 of 6 traces, 50 %, 10 s left, 2.4 of 4.8 GB, 812.0 k events/s"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    time = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: time[0])
    monkeypatch.setenv("TERM", "xterm")
    return time


def test_in_words() -> None:
    assert drawn(HALF) == WORDS
    assert drawn(State("reading", 0, 0, 0, 0.0)) == "reading, 100 %, 0 of 0 B"
    assert drawn(HALF._replace(elapsed_s=0.5)) == "3 of 6 traces, 50 %, 2.4 of 4.8 GB"


def test_a_terminal_gets_what_fits() -> None:
    assert drawn(HALF, 110) == f"[{'#' * 15}{'-' * 15}]  {WORDS}"
    assert drawn(HALF, 80) == f"[{'#' * 6}{'-' * 7}]  {WORDS}"
    assert drawn(HALF, 70) == WORDS
    assert drawn(HALF, 60) == "[#####------]  3 of 6 traces, 50 %, 10 s left, 2.4 of 4.8 GB"
    assert drawn(HALF, 20) == "3 of 6 traces, 50 %"
    assert drawn(HALF, 8) == "3 of 6 t"
    assert all(len(drawn(HALF, width)) <= width for width in range(120))


def test_what_is_left_goes_by_the_effort_where_that_is_told() -> None:
    assert seconds_left(HALF) == 10.0
    assert seconds_left(HALF._replace(effort=0.25)) == 30.0
    assert drawn(HALF._replace(effort=0.25)).startswith("3 of 6 traces, 25 %, 30 s left")
    for known in (0.0, 1.0):
        assert seconds_left(HALF._replace(effort=known)) is None


def test_a_terminal_is_redrawn_ten_times_a_second(now: list[float]) -> None:
    stream = Terminal()
    with Line(stream, 70).open() as line:
        line.show(HALF)
        now[0] += 0.05
        line.show(HALF)
        now[0] += 0.06
        line.show(HALF._replace(what="now at trace 3"))
    first, second, last = stream.getvalue().removeprefix("\r\x1b[K").split("\r\x1b[K")
    assert first == WORDS
    assert second == WORDS.replace("3 of 6 traces", "now at trace 3")
    assert last == ""


def test_the_line_is_cleared_after_a_failure(now: list[float]) -> None:
    stream = Terminal()

    def fails() -> None:
        with Line(stream, 70).open() as line:
            line.show(HALF)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fails()
    assert stream.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize("term", [None, "dumb"])
def test_a_log_gets_a_line_every_few_seconds(
    now: list[float], monkeypatch: pytest.MonkeyPatch, term: str | None
) -> None:
    stream = io.StringIO()
    if term:
        monkeypatch.setenv("TERM", term)
        stream = Terminal()
    with Line(stream).open() as line:
        for _ in range(110):
            now[0] += 0.1
            line.show(HALF)
    assert stream.getvalue() == f"{WORDS}\n" * 2


@pytest.mark.parametrize(
    ("seconds", "says"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3599, "59 min 59 s"),
     (7500, "2 h 05 min")],
)  # fmt: skip
def test_durations(seconds: float, says: str) -> None:
    assert duration(seconds) == says


@pytest.mark.parametrize(
    ("count", "says"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (125_500_000, "125.5 MB")]
)
def test_sizes(count: int, says: str) -> None:
    assert size(count) == says
