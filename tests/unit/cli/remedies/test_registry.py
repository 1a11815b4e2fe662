"""The registry of remedies: rules name them, and each does to torch what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.cli.remedies import REMEDIES
from tests.support import warm_python
from tests.support.sources import PACKAGE

BY_NAME_ONLY = {"inference_mode"}
"""Remedies that no rule names: they are tried by their own name."""
SHARED = {"__init__", "__main__", "precision", "remedy", "results", "run"}
"""Modules of the room that are no remedy."""


def test_rules_name_remedies_that_are_there() -> None:
    named = {rule.remedy for rule in RULES.values()} - {None}
    assert named == set(REMEDIES) - BY_NAME_ONLY


def test_each_file_of_the_room_is_a_remedy_or_shared() -> None:
    files = {path.stem for path in (PACKAGE / "cli" / "remedies").glob("*.py")}
    assert files == {*REMEDIES, *SHARED}


def test_to_list_remedies_imports_no_torch() -> None:
    code = (
        "import sys; from tb_privateuse1.cli.remedies import REMEDIES; list(REMEDIES);"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.long  # it imports torch
@pytest.mark.parametrize("name", list(REMEDIES))
def test_a_remedy_says_what_it_is(name: str) -> None:
    remedy = REMEDIES[name]
    assert remedy.name == name
    assert remedy.what
    assert remedy.applies_to
    assert 0 < remedy.tolerance < 1


def applied(tmp_path: Path, name: str, program: str) -> str:
    """Run a program with a remedy applied; return what took effect, a line each."""
    file = tmp_path / "program.py"
    file.write_text(
        "import torch\ntorch.set_num_threads(1)\n"
        "from tb_privateuse1.cli.remedies import REMEDIES\n"
        "from tb_privateuse1.cli.remedies.remedy import Effects\n"
        f"effects = Effects()\nREMEDIES[{name!r}].apply(effects)\n{program}\n"
        "for call in effects.after_first_step: call()\n"
        "print(*effects.counts, sep='\\n')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = warm_python.run(
        warm_python.TORCH, [str(file)], cwd=tmp_path, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


MODEL = "model = torch.nn.Linear(4, 4)\nx = torch.ones(2, 4)\n"

EFFECTS = {
    "fused_optimizer": (
        "torch.optim.AdamW(torch.nn.Linear(2, 2).parameters())",
        "AdamW with fused=True",
        "torch.optim.AdamW(torch.nn.Linear(2, 2).parameters(), fused=True)",
    ),
    "set_to_none": (
        f"{MODEL}model.zero_grad(set_to_none=False)",
        "zero_grad of Linear with set_to_none=True",
        f"{MODEL}model.zero_grad()",
    ),
    "sdpa": (
        "m = torch.nn.MultiheadAttention(4, 2)\nx = torch.ones(2, 1, 4)\n"
        "assert m(x, x, x)[1] is None",
        "calls of MultiheadAttention with need_weights=False",
        "m = torch.nn.MultiheadAttention(4, 2)\nx = torch.ones(2, 1, 4)\n"
        "m(x, x, x, need_weights=False)",
    ),
    "channels_last": (
        "model = torch.nn.Conv2d(3, 3, 1)\nmodel(torch.ones(2, 3, 4, 4))\n"
        "assert model(torch.ones(2, 3, 4, 4)).is_contiguous(memory_format=torch.channels_last)",
        "Conv2d and its inputs in channels_last",
        f"{MODEL}model(x)",
    ),
    "inference_mode": (
        f"{MODEL}model(x)\nassert model(x).is_inference()",
        "calls of a model in inference_mode()",
        f"{MODEL}torch.set_grad_enabled(False)\nmodel(x)\nmodel(x)",
    ),
    "autocast": (
        f"{MODEL}model(x)\nassert model(x).dtype == torch.bfloat16",
        "calls of a model in autocast to bfloat16",
        "torch.ones(2)",
    ),
    "single_precision": (
        f"{MODEL}assert model.double()(x.to(torch.float64)).dtype == torch.float32",
        "conversions to float64 that are to float32\nfloat32 where float64 was asked for",
        f"{MODEL}model(x)",
    ),
    "float32_on_host": (
        f"{MODEL}assert model.half()(x).dtype == torch.float32",
        "conversions to float16 that are to float32",
        f"{MODEL}model(x.double().float())",
    ),
    "kept_activations": (
        f"{MODEL}from torch.utils.checkpoint import checkpoint\n"
        "checkpoint(model, x, use_reentrant=False).sum().backward()",
        "calls of checkpoint() that keep their activations",
        f"{MODEL}model(x)",
    ),
    "frozen_garbage": (
        "import gc\nassert gc.collect() == 0\ngc.disable()",
        "calls of gc.collect(), one in a hundred done",
        "import gc\ngc.disable()",
    ),
    "dynamic_shapes": (
        "torch.compile(torch.sin)",
        "torch.compile with dynamic=True",
        "torch.compile(torch.sin, dynamic=True)",
    ),
    "queued_launches": (
        "import os\nassert 'CUDA_LAUNCH_BLOCKING' not in os.environ",
        "",
        "",
    ),
    "no_anomaly_detection": (
        f"{MODEL}torch.autograd.set_detect_anomaly(True)\n"
        "with torch.autograd.detect_anomaly():\n    assert not torch.is_anomaly_enabled()",
        "calls that turn anomaly detection on, left out",
        "torch.autograd.set_detect_anomaly(False)",
    ),
    "kept_memory": (
        "import resource\n"
        "for _ in range(20): torch.ones(48 << 18)\n"  # the heap settles
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for _ in range(3): torch.ones(48 << 18)\n"
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 1000",
        "settings of glibc that keep freed memory",
        "",
    ),
    "compile": (
        f"{MODEL}model(x)",
        "torch.compile of Linear",
        "torch.nn.ReLU()(torch.ones(2))",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", EFFECTS)
def test_a_remedy_counts_what_it_changed(tmp_path: Path, name: str) -> None:
    program, said, _ = EFFECTS[name]
    assert applied(tmp_path, name, program) == said


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, (_, _, clean) in EFFECTS.items() if clean])
def test_a_remedy_with_nothing_to_change_counts_nothing(tmp_path: Path, name: str) -> None:
    assert applied(tmp_path, name, EFFECTS[name][2]) == ""
