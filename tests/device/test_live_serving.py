"""Loops that generate text on the reference device: their iterations by shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.serving import serving
from tests.support.on_device import Done, device
from tests.support.serving_count import by_lookup

WORDS, PROMPT, NEW = 96, 5, 6

PROGRAM = f"""
WORDS, WIDTH, HEADS, PLACES = {WORDS}, 32, 4, 32

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x, past):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        scores = torch.matmul(q, k.transpose(-1, -2)).softmax(-1)
        mixed = torch.matmul(scores, v).transpose(1, 2).reshape(b, t, WIDTH)
        return x + self.out(mixed), (k, v)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        self.places = torch.nn.Embedding(PLACES, WIDTH)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(2))
        self.scores = torch.nn.Linear(WIDTH, WORDS)

    def forward(self, ids, past, place):
        places = torch.arange(place, place + ids.shape[1]).unsqueeze(0).to("refdev")
        x, kept = self.words(ids) + self.places(places), []
        for layer, before in zip(self.layers, past or [None] * 2):
            x, pair = layer(x, before)
            kept.append(pair)
        return self.scores(x[:, -1]), kept

def generate(name, batch, cached):
    model = Model().to("refdev").eval()
    ids = torch.randint(WORDS, (batch, {PROMPT})).to("refdev")
    with torch.no_grad(), capture.profile(on_trace_ready=log(name), record_shapes=True):
        past, place, new = None, 0, ids
        for _ in range({NEW}):
            scores, kept = model(new, past, place)
            following = scores.argmax(-1, keepdim=True)
            if cached:
                past, place, new = kept, place + new.shape[1], following
            else:
                new = torch.cat([new, following], 1)
        torch.accelerator.synchronize()

generate("one", 1, True)
generate("four", 4, True)
generate("again", 1, False)
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return device(tmp_path_factory.mktemp("serving"), PROGRAM)


def opened(runs: Done, run: str) -> tuple[Path, Trace]:
    """The only trace of a run, with its sidecar."""
    [path] = runs.traces(run)
    beside = runs.sidecars(run)
    side = readers_sidecar.read_sidecar(str(beside[0])) if beside else None
    return path, inference.build_trace(chrome.read(str(path)), side)


@pytest.mark.parametrize("run", ["one", "four", "again"])
def test_iterations_equal_a_count_of_the_file(runs: Done, run: str) -> None:
    path, trace = opened(runs, run)
    rows, counted = serving(trace).rows, by_lookup(path, WORDS)
    assert [(row.kind, row.requests, row.tokens) for row in rows] == [
        (one.kind, one.requests, one.tokens) for one in counted
    ]
    assert [row.start_ns + trace.start_ns for row in rows] == [one.start_ns for one in counted]
    assert [row.time_ns for row in rows[:-1]] == [one.time_ns for one in counted[:-1]]
    assert {row.found for row in rows} == {"shape"}


@pytest.mark.parametrize(("run", "batch"), [("one", 1), ("four", 4)])
def test_with_a_cache_each_token_is_a_decode(runs: Done, run: str, batch: int) -> None:
    result = serving(opened(runs, run)[1])
    assert [row.kind for row in result.rows] == ["prefill", *["decode"] * (NEW - 1)]
    assert [row.context for row in result.rows] == [batch * (PROMPT + i) for i in range(NEW)]
    (one,) = result.generations
    assert (one.requests, one.prompt_tokens, one.new_tokens) == (batch, PROMPT, NEW)
    assert one.first_token_ns == result.rows[0].time_ns
    assert result.repeated == 0
    # The sidecar has the device's times: what it does not use is exposed.
    assert all(row.device_ns and row.exposed_ns is not None for row in result.rows)


def test_without_a_cache_all_tokens_are_computed_again(runs: Done) -> None:
    result = serving(opened(runs, "again")[1])
    assert [row.kind for row in result.rows] == ["prefill"] * NEW
    assert [row.tokens for row in result.rows] == [PROMPT + i for i in range(NEW)]
    assert result.repeated == NEW - 1
    assert result.generations[0].new_tokens == NEW
