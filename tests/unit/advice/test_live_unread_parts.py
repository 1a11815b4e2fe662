"""Results read in part, inverses and padding in programs that torch records on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from torch.profiler import ProfilerActivity, profile, schedule

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules import RULES
from tests.support.shared_traces import read

Step = Callable[[], object]
_NAMES = ("unread_rows", "inverse_product", "padding")
A, B = torch.rand(384, 256), torch.rand(384, 256)
MATRIX = torch.rand(384, 384) + 384 * torch.eye(384)
LENGTHS = (20, 200, 60, 40, 100, 30, 70, 50)
SEQUENCES = [torch.rand(length, 256) for length in LENGTHS]
EQUAL = [torch.rand(max(LENGTHS), 256) for _ in LENGTHS]
HEAD, LAYER = torch.nn.Linear(256, 2048), torch.nn.Linear(256, 256)
SAMPLES = torch.rand(100_000, 8)
PLACES, FIRST = torch.arange(384), torch.tensor([3, 5, 8])


def found(step: Step, folder: Path) -> list[str]:
    """The rules on unread parts that speak of a program."""
    step()
    path = folder / "run.pt.trace.json"
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=1, active=4, repeat=1),
        on_trace_ready=lambda one: one.export_chrome_trace(str(path)),
        record_shapes=True,
    ) as prof:
        for _ in range(5):
            step()
            prof.step()
    rules = [RULES[name] for name in _NAMES]
    return [row.rule for row in advise(read(path), rules=rules).rows]


def trained(rows: torch.Tensor) -> None:
    functional.cross_entropy(rows, torch.zeros(len(rows), dtype=torch.int64)).backward()


class Layer(torch.nn.Module):
    """A layer of a transformer; ``first`` computes the first token's state alone."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.pair = torch.nn.Linear(256, 256), torch.nn.Linear(256, 512)
        self.norm, self.inner = torch.nn.LayerNorm(256), torch.nn.Linear(256, 1024)
        self.outer = torch.nn.Linear(1024, 256)

    def forward(self, hidden: torch.Tensor, first: bool) -> torch.Tensor:
        asked = hidden[:, :1] if first else hidden
        parts = (self.query(asked), *self.pair(self.norm(hidden)).chunk(2, -1))
        heads = (part.unflatten(-1, (4, 64)).transpose(1, 2) for part in parts)
        found = functional.scaled_dot_product_attention(*heads)
        state = asked + found.transpose(1, 2).flatten(2)
        return state + self.outer(functional.gelu(self.inner(self.norm(state))))


ONE, TWO, TOKENS = Layer(), Layer(), torch.rand(4, 128, 256)


def classified(states: torch.Tensor) -> None:
    HEAD(states[:, 0]).square().mean().backward()


FAULTS: list[tuple[str, Step, Step]] = [
    ("unread_rows", lambda: (A @ B.T).diagonal().mean(), lambda: (A * B).sum(-1).mean()),
    ("unread_rows", lambda: torch.cdist(A, B).trace(), lambda: torch.cdist(A, B).mean()),
    ("unread_rows", lambda: HEAD(A)[FIRST].argmax(-1), lambda: HEAD(A[FIRST]).argmax(-1)),
    ("unread_rows", lambda: HEAD(A)[PLACES, PLACES].mean(0), lambda: HEAD(A).softmax(-1)[PLACES]),
    ("unread_rows", lambda: trained(HEAD(A)[:16]), lambda: trained(HEAD(A[:16]))),
    ("unread_rows", lambda: ONE(TOKENS, False)[:, -1], lambda: ONE(TOKENS, True)[:, -1]),
    (
        "unread_rows",
        lambda: classified(TWO(ONE(TOKENS, False), False)),
        lambda: classified(TWO(ONE(TOKENS, False), True)),
    ),
    (
        "unread_rows",
        lambda: SAMPLES[torch.randperm(len(SAMPLES))[:64]],
        lambda: SAMPLES[torch.randint(len(SAMPLES), (64,))],
    ),
    ("inverse_product", lambda: MATRIX.inverse() @ B, lambda: torch.linalg.solve(MATRIX, B)),
    (
        "padding",
        lambda: LAYER(pad_sequence(SEQUENCES, batch_first=True)),
        lambda: LAYER(pad_sequence(EQUAL, batch_first=True)),
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(("rule", "fault", "clean"), FAULTS)
def test_a_fault_is_found_and_its_fix_is_not(
    rule: str, fault: Step, clean: Step, tmp_path: Path
) -> None:
    assert found(fault, tmp_path) == [rule]
    assert found(clean, tmp_path) == []
