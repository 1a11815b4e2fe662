"""The first loss that is not finite is seen, however it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tb_privateuse1.capture.demand.watches import LossWatch
from tb_privateuse1.capture.warnings import Notes


def seen(losses: list[Any]) -> list[int | None]:
    watch = LossWatch(Notes())
    return [watch.lost(step, loss) for step, loss in enumerate(losses)]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    "make",
    [float, np.float32, torch.tensor, lambda x: torch.tensor([x], dtype=torch.bfloat16),
     lambda x: torch.tensor(x, requires_grad=True)],
)  # fmt: skip
def test_the_first_one_is_seen(make: Any, bad: float) -> None:
    losses = [make(value) for value in (1.0, 2.0, bad, bad, 1.0, bad)]
    assert seen(losses) == [None, None, 2, None, None, 5]


def test_a_program_need_not_give_it() -> None:
    assert seen([None, 1, None, float("nan"), None]) == [None, None, None, 3, None]


def test_what_is_no_loss_is_noted_once() -> None:
    notes = Notes()
    watch = LossWatch(notes)
    for step, loss in enumerate([torch.ones(3), {"loss": 1}, float("nan")]):
        assert watch.lost(step, loss) is None
    assert list(notes.found) == ["loss-unread"]


class Event:
    """An event of a backend whose copies take two steps."""

    done = False

    def record(self) -> None:
        return None

    def query(self) -> bool:
        return self.done


def test_a_device_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """With pinned memory and events: the loss is read when its event says so."""
    watch, event = LossWatch(Notes()), Event()
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda _: True)
    monkeypatch.setattr(torch, "empty", lambda *_, dtype, **__: torch.zeros((), dtype=dtype))
    monkeypatch.setattr("tb_privateuse1.capture.demand.watches._event", lambda _: event)
    watch._pending = (0, *watch._send(torch.tensor(float("nan"))))
    assert watch.lost(1, None) is None
    assert watch.lost(2, None) is None
    event.done = True
    assert watch.lost(3, None) == 0
