"""Memory that outlives its use, planted into loops on the reference device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb_privateuse1 import inference
from tb_privateuse1.advice.engine import advise
from tb_privateuse1.readers import chrome
from tests.support.on_device import device

MIB = 1 << 20

PROGRAM = """
options = {"schedule": schedule(wait=0, warmup=2, active=5, repeat=1), "with_stack": True}
options |= {"profile_memory": True, "record_shapes": True}

def training(name, late):
    # Peaks at the end of the forward pass: 16 activations of 1 MiB and 8 of weights.
    layers = [torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.Tanh()) for _ in range(8)]
    model = torch.nn.Sequential(*layers).to("refdev")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = torch.randn(512, 512).to("refdev")
    with capture.profile(on_trace_ready=log(name), **options) as prof:
        for _ in range(7):
            if not late:
                optimizer.zero_grad()
            loss = model(batch).sum()
            if late:
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            prof.step()

def scoring(name, *, late=False, grow=False):
    # Peaks with the scores, 8 MiB; one step's are held until those of the next one are made.
    model = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.Linear(96, 4096)).to("refdev")
    batch = torch.randn(512, 64).to("refdev")
    results = []
    with torch.no_grad(), capture.profile(on_trace_ready=log(name), **options) as prof:
        for _ in range(7):
            scores = model(batch)
            best = scores.argmax(dim=-1)
            if grow:
                results.append(scores)
            if not late:
                del scores
            prof.step()

def filling(name, parts):
    # Each step allocates parts of 6 MiB and releases them; earlier runs hold nothing any more.
    torch.accelerator.empty_cache()
    with capture.profile(on_trace_ready=log(name), **options) as prof:
        for _ in range(7):
            held = [torch.ones(3 << 19, device="refdev") for _ in range(parts)]
            for part in held:
                part.add_(1)
            del held, part
            torch.accelerator.synchronize()
            torch.accelerator.empty_cache()
            prof.step()

training("good", False)
training("gradients", True)
scoring("released")
scoring("results", late=True)
scoring("growing", grow=True)
filling("full", 16)
filling("roomy", 8)
"""
SCRIPT = f'exec(compile({PROGRAM!r}, "loop.py", "exec"))'
RUNS = ("good", "gradients", "released", "results", "growing", "full", "roomy")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, tuple[str, str]]]:
    """The rules on memory that spoke, with title and line, of each run on a device of 100 MiB."""
    done = device(tmp_path_factory.mktemp("memory"), SCRIPT)
    return {name: spoken(*done.traces(name)) for name in RUNS}


def spoken(path: Path) -> dict[str, tuple[str, str]]:
    document = json.loads(path.read_text())
    document["deviceProperties"] = [{"id": 0, "name": "refdev", "totalGlobalMem": 100 * MIB}]
    small = path.with_name("small.1.pt.trace.json")
    small.write_text(json.dumps(document))
    advice = advise(inference.build_trace(chrome.read(str(small)), None))
    rows = [row for row in advice.rows if row.cause == "memory"]
    return {row.rule: (row.title, str(row.where or "")) for row in rows}


@pytest.mark.exhaustive
def test_without_a_fault_nothing_is_said(runs: dict[str, dict[str, tuple[str, str]]]) -> None:
    assert runs["good"] == {}
    assert runs["released"] == {}
    assert runs["roomy"] == {}


def test_gradients_that_are_reset_late_are_found(
    runs: dict[str, dict[str, tuple[str, str]]],
) -> None:
    title, _ = runs["gradients"]["late_release"]
    assert title.startswith("8.016 MiB of gradients are reset only behind the peak")


def test_results_of_the_step_before_are_found_with_their_line(
    runs: dict[str, dict[str, tuple[str, str]]],
) -> None:
    title, source = runs["results"]["late_release"]
    assert title.startswith("8.004 MiB of the previous step's results are alive at the peak")
    assert source.startswith("scoring (")


def test_growth_names_its_line(runs: dict[str, dict[str, tuple[str, str]]]) -> None:
    title, source = runs["growing"]["memory_growth"]
    assert "8.000 MiB more with every step" in title
    assert source.startswith("scoring (")


def test_a_device_that_is_nearly_full_is_found(runs: dict[str, dict[str, tuple[str, str]]]) -> None:
    title, _ = runs["full"]["memory_capacity"]
    assert "96.0 %" in title
