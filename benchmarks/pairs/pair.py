"""Define a pair: a program in two forms, and the changes that model the fix in the what-if."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct, field

Step = Callable[[], object]


class Forms(Struct, frozen=True):
    """A program's step before and after the fix, built in the process that measures it."""

    before: Step
    after: Step
    part: tuple[Step, Step] | None = None
    """Only what the fix replaces, before and after. Its ratio is ``{part}`` in the changes."""
    enter: tuple[Step, Step] | None = None
    """Run before a series of steps of each form, such as another setting of the device."""


class Pair(Struct, frozen=True):
    """A program before and after a fix. ``changes`` were written before the truth was known.

    In ``changes``, ``{part}`` is the time of what replaces a part, as a share of the part's own,
    each timed alone: the user of a what-if knows it from a small benchmark. ``kernel:*`` stands
    for every kernel of the recording.
    """

    name: str
    fix: str
    device: Literal["cpu", "refdev"]
    build: Callable[[], Forms]
    changes: tuple[str, ...]
    """Empty if the what-if has no word for the fix: it then predicts no gain."""
    route: Literal["measured", "inferred"] = "measured"
    """How the recording has its device times: measured kernels, or elapsed times by events."""
    stacks: bool = False
    data: bool = False
    """With the tensors' shapes and the allocator's events."""
    stacks_after: bool | None = None
    """Set where the fix is another way to record: only recorded steps are compared then."""
    settings: Mapping[str, float] = field(default_factory=dict)
    """Of the reference device."""
    warm_steps: int = 2
    """Before each series of steps."""
    of_process: bool = False
    """Timed by the processors' time of the process: other programs do not matter."""
    work: float = 1
    """The work of a step after the fix, in steps before it: its time is divided by this."""

    @property
    def held(self) -> bool:
        """Whether the pair is set aside: no one may tune a prediction on it."""
        return is_held(self.name)


class RecordedPair(Struct, frozen=True):
    """A pair of recordings made elsewhere, of which only the recorded steps are known."""

    name: str
    fix: str
    device: str
    before: str
    after: str
    """Paths below the folder of shared recordings."""
    changes: tuple[str, ...]

    @property
    def held(self) -> bool:
        """Whether the pair is set aside: no one may tune a prediction on it."""
        return is_held(self.name)


RECORDED = (
    RecordedPair(
        "data_loader_v100",
        "four data loader workers",
        "cuda",
        "cuda/v100_resnet50_old_torch_workers0",
        "cuda/v100_resnet50_old_torch_workers4",
        ("data_loader=0",),
    ),
)
"""Public recordings of one program with and without data loader workers."""

SHARED = Path(__file__).parents[3] / "shared" / "traces"

_ASIDE = 3
"""One pair of this many is set aside."""

Build = TypeVar("Build", bound=Callable[[], Forms])


def is_held(name: str) -> bool:
    """Return whether a pair is set aside, by the hash of its name."""
    return zlib.crc32(name.encode()) % _ASIDE == 0
