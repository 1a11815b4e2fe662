"""Recordings whose bytes or values change: sums stay, or a finding says why not."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest

from tests.support.mutants.harness import outcomes
from tests.support.mutants.registry import FORMATS
from tests.support.repeats import repeats, sampled


@pytest.mark.long
@pytest.mark.parametrize("name", sampled(FORMATS, 3))
def test_sums_are_those_of_a_plain_program(tmp_path: Path, name: str) -> None:
    """A part of what ``python -m tests.support.mutants`` does."""
    format = FORMATS[name]
    count = repeats(format.count)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = outcomes(format, random.Random(7), count, tmp_path)
    assert found.total() == count
    rare = {key: found[key] for key, share in format.least.items() if found[key] < share * count}
    assert not rare, found
