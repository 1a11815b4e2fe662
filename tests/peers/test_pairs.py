"""Programs before and after a fix: what the document claims of the what-if holds.

The recordings in ``traces/pairs`` are of the programs before the fix, and ``pairs.json`` has the
steps that were measured before and after it (``python -m benchmarks.pairs``).
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pairs import quiet, table
from benchmarks.pairs.pair import RECORDED, is_held
from benchmarks.pairs.prediction import Prediction
from benchmarks.pairs.record import TRUTH
from benchmarks.pairs.table import Gain, Row

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "traces" / "pairs"
DOCUMENT = ROOT / "docs" / "internals" / "pairs.md"
NAMES = list(json.loads((FOLDER / TRUTH).read_text())["pairs"])
SHARED = {pair.name for pair in RECORDED}

_BASELINE = 0.02
"""Of the step: what the replay of an unchanged recording may miss."""

_LARGEST, _ALL = 320_000, 4_000_000
"""Bytes of a recording, and of all."""


@pytest.fixture(scope="module")
def found() -> dict[str, Row]:
    return {row.name: row for row in table.rows(FOLDER)}


def documented() -> list[dict[str, str]]:
    """Return the rows of the document's first table; a column's second use has ``recorded``."""
    lines = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [
        dict(zip(table.COLUMNS, row, strict=True))
        for row in cells
        if len(row) == len(table.COLUMNS) and row[0] != table.COLUMNS[0]
    ]


def per_cent(cell: str) -> float:
    return int(cell.removesuffix("%")) / 100


def test_the_recordings_are_small_and_complete() -> None:
    sizes = [path.stat().st_size for path in FOLDER.rglob("*.gz")]
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} == set(NAMES)
    assert len(NAMES) >= 12
    assert max(sizes) <= _LARGEST
    assert sum(sizes) <= _ALL


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_replays_as_it_was(found: dict[str, Row], name: str) -> None:
    assert found[name].baseline_error <= _BASELINE


@pytest.mark.parametrize("name", NAMES)
def test_no_recording_names_a_place_of_its_machine(name: str) -> None:
    for path in (FOLDER / name).glob("*.gz"):
        assert not re.search(rb'"/(root|home|work|tmp|Users)/', gzip.decompress(path.read_bytes()))


def test_every_pair_is_documented() -> None:
    assert [row["pair"] for row in documented()] == [*NAMES, *SHARED]


@pytest.mark.parametrize(
    ("truth", "inside", "error"),
    [("real", "inside", "error"), ("recorded", "recorded inside", "recorded error")],
)
@pytest.mark.parametrize("held", [False, True])
def test_no_more_is_claimed_than_holds(
    found: dict[str, Row], truth: str, inside: str, error: str, held: bool
) -> None:
    claims = [row for row in documented() if row["pair"] in found]
    claims = [row for row in claims if is_held(row["pair"]) == held]
    gains = [found[row["pair"]].gain(truth) for row in claims]
    claimed = sum(row[inside] == "yes" for row in claims)
    assert sum(gain.inside for gain in gains) >= claimed
    errors = sorted(per_cent(row[error]) for row in claims)
    middle = (errors[len(errors) // 2] + errors[~(len(errors) // 2)]) / 2
    assert table.median_error(gains) <= middle + 0.005  # the document rounds


def test_the_documents_summary_is_that_of_its_rows() -> None:
    rows = documented()
    share = sum(row["inside"] == "yes" for row in rows) / len(rows)
    title = table.TRUTHS["real"]
    assert f"| {title} | all | {len(rows)} | {share:.0%} |" in DOCUMENT.read_text()


def row(prediction: Prediction, **truth: Any) -> Row:
    known = {"work": 1, "before_ns": 10, "after_ns": 6, "gain_error_ns": 0}
    known |= {"recorded_before_ns": 20, "recorded_after_ns": 12}
    return Row("some", known | truth, prediction)


def test_a_gain_is_judged_by_real_steps_their_share_and_recorded_ones() -> None:
    judged = row(Prediction(25_000_000, 25_000_000, 20_000_000, 8e6, 4e6, 9e6),
                 before_ns=10_000_000, after_ns=6_000_000,
                 recorded_before_ns=20_000_000, recorded_after_ns=10_000_000)  # fmt: skip
    assert judged.gain("real") == Gain(4, 8, 4, 9)
    assert judged.gain("share") == Gain(0.4, 0.4, 0.2, 0.45)
    assert judged.gain("recorded") == Gain(10, 8, 4, 9)
    assert (judged.gain("real").inside, judged.gain("real").error) == (True, 1)
    assert (judged.gain("recorded").inside, judged.gain("recorded").error) == (False, 0.2)


def test_a_step_with_twice_the_work_counts_half() -> None:
    judged = row(Prediction(20, 20, 20, 0, 0, 0), work=2, after_ns=12, recorded_after_ns=30)
    assert (judged.step("after"), judged.step("recorded_after")) == (6, 15)


def test_the_quietest_results_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = [0.5, 0.0, 0.9, 0.2]
    monkeypatch.setattr(quiet, "others_share", lambda measure: (measure(), shares[measure()]))
    assert quiet.quietest(lambda number: number, wanted=4, seconds=0)[0] == [0, 1, 2, 3]
    assert quiet.quiet_order(shares)[:2] == [1, 3]
    times = iter([0.0, 0.0, 9.0])
    chosen = quiet.quietest(lambda number: number, 2, seconds=1, clock=lambda: next(times))
    assert chosen == ([0, 1], 0.25)
