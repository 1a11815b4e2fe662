"""Whatever the circumstances, a program ends as it does without us, and no window is half saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.device.capture.circumstances import CIRCUMSTANCES, Circumstance, Runner
from tests.support.repeats import sampled

RUNNER = Runner()


@pytest.mark.long
@pytest.mark.parametrize(
    "one", sampled(CIRCUMSTANCES, 4), ids=lambda one: one.name.replace(" ", "-")
)
def test_a_program_ends_as_expected(one: Circumstance, tmp_path: Path) -> None:
    found = RUNNER.run(one, "new", tmp_path)
    assert found.code == one.code, found.output
    assert (found.traces, found.warnings) == (one.traces, one.warnings), found.output
    recorded = one.traces if one.device else 0
    assert found.sidecars == recorded, found.output
    assert not [path for path in tmp_path.rglob(".*") if path.name.endswith(".tmp")]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "one",
    [one for one in CIRCUMSTANCES if one.torch is None or one.torch > 0],
    ids=lambda one: one.name.replace(" ", "-"),
)
def test_torch_ends_it_alike(one: Circumstance, tmp_path: Path) -> None:
    """Crashes of torch's own are in the table of the documentation; they do not come each time."""
    found = RUNNER.run(one, "torch", tmp_path)
    assert found.code == (one.code if one.torch is None else one.torch), found.output


def test_every_circumstance_has_a_name_of_its_own() -> None:
    assert len({one.name for one in CIRCUMSTANCES}) == len(CIRCUMSTANCES) >= 40
