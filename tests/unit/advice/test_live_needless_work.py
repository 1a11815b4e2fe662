"""Needless work planted into trainings that torch records on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, schedule

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules import RULES
from tests.support.made_times import set_times
from tests.support.shared_traces import read

Step = Callable[[], object]
_NAMES = ("repeated_work", "unread_results", "unread_gradients")
WIDTH = 256
"""That of the layers and of the batch: shapes tell nothing apart."""


def found(step: Step, folder: Path, *, stacks: bool) -> list[str]:
    """The rules on needless work that speak of a program."""
    step()
    path = folder / "run.pt.trace.json"
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=1, active=3, repeat=1),
        on_trace_ready=lambda one: one.export_chrome_trace(str(path)),
        record_shapes=True,
        with_stack=stacks,
    ) as prof:
        for _ in range(4):
            step()
            prof.step()
    set_times(path)
    rules = [RULES[name] for name in _NAMES]
    return [row.rule for row in advise(read(path), rules=rules).rows]


def training(**extras: bool) -> Step:
    """Two layers and a head; what else the step does is named."""
    body = torch.nn.Sequential(
        torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU(), torch.nn.Linear(WIDTH, WIDTH)
    )
    head, side = torch.nn.Linear(WIDTH, 10), torch.nn.Linear(WIDTH, 4 * WIDTH)
    kept = torch.ones(WIDTH, WIDTH).tril().softmax(-1)
    trained: list[Any] = list(head.parameters())
    if not extras.get("frozen"):
        trained += body.parameters()
    optimizer = torch.optim.SGD(trained, lr=0.01)

    def step() -> None:
        x = torch.randn(WIDTH, WIDTH)
        mask = torch.ones(WIDTH, WIDTH).tril().softmax(-1) if extras.get("mask") else kept
        x = body(mask @ x)
        if extras.get("side"):
            side(x)
        loss = torch.nn.functional.cross_entropy(head(x), torch.randint(0, 10, (WIDTH,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


@pytest.mark.long
@pytest.mark.parametrize("stacks", [True, False])
def test_what_is_needless_is_found_and_nothing_else(stacks: bool, tmp_path: Path) -> None:
    assert found(training(), tmp_path, stacks=stacks) == []
    assert found(training(mask=True), tmp_path, stacks=stacks) == ["repeated_work"]
    assert found(training(side=True), tmp_path, stacks=stacks) == ["unread_results"]
    assert found(training(frozen=True), tmp_path, stacks=stacks) == ["unread_gradients"]


def asked(how: str) -> Step:
    """A model with dropout in inference: asked once, or several times on purpose."""
    body: torch.nn.Module = torch.nn.Sequential(
        torch.nn.Linear(64, WIDTH), torch.nn.ReLU(), torch.nn.Dropout(0.2),
        torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Dropout(0.2),
    )  # fmt: skip
    head: torch.nn.Module = torch.nn.Linear(WIDTH, 8)
    inputs = torch.rand(WIDTH, 64)
    if how == "in evaluation":
        body.eval()
    if how == "head alone":
        body, head = torch.nn.Linear(64, WIDTH), torch.nn.Sequential(torch.nn.Dropout(0.2), head)

    def step() -> object:
        if how == "in a loop":
            return torch.stack([head(body(inputs)) for _ in range(6)]).mean(0)
        if how == "head alone":
            hidden = body(inputs)
            return torch.stack([head(hidden) for _ in range(6)]).mean(0)
        if how == "as one batch":
            return head(body(inputs.expand(6, *inputs.shape))).mean(0)
        scores = head(body(inputs))
        return scores.std(0) if how == "by its spread" else scores.argmax(-1).tolist()

    return step


@pytest.mark.long
@pytest.mark.parametrize("stacks", [True, False])
def test_dropout_of_inference_is_found_unless_it_is_meant(stacks: bool, tmp_path: Path) -> None:
    assert found(asked("as trained"), tmp_path, stacks=stacks) == ["unread_results"]
    for how in ("in evaluation", "in a loop", "head alone", "as one batch", "by its spread"):
        assert found(asked(how), tmp_path, stacks=stacks) == [], how
