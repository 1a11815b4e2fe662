"""Damaged recordings: no figure is wrong in silence (more: ``python -m tests.support.damage``)."""

from __future__ import annotations

import random

import pytest

from tests.support.damage.changes import DAMAGES
from tests.support.damage.harness import run
from tests.support.repeats import repeats


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_figure_of_a_damaged_recording_is_wrong_in_silence(damage: str) -> None:
    assert run(random.Random(1), damage).worst != "silent"


@pytest.mark.long
@pytest.mark.parametrize("damage", DAMAGES)
def test_nor_of_many(damage: str) -> None:
    for seed in range(2, repeats(40)):
        found = run(random.Random(seed), damage)
        silent = [figure for figure, outcome in found.counts if outcome == "silent"]
        assert not silent, seed
