"""The memory that a run would need if it kept the activations that it recomputes."""

import numpy as np
import pytest

from tb_privateuse1.analysis.memory.kept_activations import peak_if_kept_bytes
from tests.support import make
from tests.support.program import Program

DEVICE = (20, 0)
PART = "torch/utils/checkpoint.py(1490): recompute_fn"


class Recomputing(Program):
    """A program that reports its allocated bytes after each change."""

    def __init__(self, spare: float | None = None) -> None:
        super().__init__()
        self.level = 0
        self.spare = spare

    def allocate(self, size: int) -> None:
        """Allocate, or release where the size is negative."""
        self.now += 1
        self.level += size
        reserved = {} if self.spare is None else {"Total Reserved": int(self.level * self.spare)}
        self.events.append(make.memory(self.now, size, self.level, **reserved))
        self.now += 1

    def parts(self, *sizes: int) -> None:
        """Recompute parts of these activations; each has a temporary tensor of 10 bytes."""
        for size in sizes:
            with self.frame(PART):
                self.allocate(size + 10)
                self.allocate(-10)
            self.allocate(-size)

    def peak(self) -> int | None:
        """The most bytes of the device with all activations kept."""
        made = self.trace()
        recomputing = np.array([made.text(name) == PART for name in made.frames.name])
        return peak_if_kept_bytes(made, DEVICE, recomputing)


def test_all_parts_of_a_step_are_kept_at_once() -> None:
    run = Recomputing()
    for sizes in ((100, 200), (100, 300)):
        with run.step():
            run.allocate(1000)
            run.parts(*sizes)
            run.allocate(-1000)
    assert run.peak() == (1000 + 310) + (110 + 310)


@pytest.mark.parametrize(("spare", "expected"), [(1.5, 1.5 * 1160 + 160), (None, 1160 + 160)])
def test_parts_come_to_what_the_allocator_reserved(spare: float | None, expected: float) -> None:
    run = Recomputing(spare)
    with run.step():
        run.allocate(1000)
        run.parts(150)
    assert run.peak() == round(expected)


def test_a_frame_inside_another_counts_once() -> None:
    run = Recomputing()
    with run.step():
        run.allocate(1000)
        with run.frame(PART):
            run.parts(150)
    assert run.peak() == 1160 + 160


def test_without_an_allocation_it_is_unknown() -> None:
    run = Recomputing()
    with run.step():
        run.allocate(1000)
        with run.frame(PART):
            run.rest(1)
    assert run.peak() is None
