"""The conformance kit: wrong backends are named by their line, the right one has none."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.device.testing.conformance.wrong_backends import WRONG, Wrong
from tests.support import warm_python
from tests.support.on_device import ROOT

_TRIES = 5
"""What a busy host cannot time is unknown, and is asked for again."""


def check(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the kit on the reference device; the class goes into ``folder``."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "examples" / "refdevice")])
    clean = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE")}
    mine = {"PYTHONPATH": path, "TB_PRIVATEUSE1_CACHE": str(folder)}
    command = ["-m", "tb_privateuse1.capture", "--check", "--import", "refdevice", *options]
    env = {**clean, **mine, **environment}
    return warm_python.run(warm_python.TORCH, command, cwd=folder, env=env, timeout=300)


def scorecard(folder: Path, *options: str, **environment: str) -> dict[str, Any]:
    """Return what the kit writes as JSON, once no line is unknown; the last one otherwise."""
    for _ in range(_TRIES):
        done = check(folder, "--json", "card.json", *options, **environment)
        assert done.returncode == 0, done.stderr
        card: dict[str, Any] = json.loads((folder / "card.json").read_text())
        if not any(line["verdict"] == "unknown" for line in card["lines"]):
            break
    return card


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_backend_is_named_by_its_line(tmp_path: Path, wrong: Wrong) -> None:
    card = scorecard(tmp_path, "--only", wrong.line, **wrong.environment)
    (line,) = card["lines"]
    assert line["code"] == wrong.line
    assert line["verdict"] in ("warn", "fail"), line["measured"]
    assert line["remedy"]
    assert card["class"] is None


TRIES = 3
"""As of recordings in ``tests/support/recording.py``."""


@pytest.mark.parametrize("kineto", ["0", "1"])
def test_the_right_backend_has_no_line(tmp_path: Path, kineto: str) -> None:
    """Its device is played by this host: one that is held up makes it late, so there are tries."""
    for _ in range(TRIES):
        card = scorecard(tmp_path, REFDEVICE_KINETO=kineto)
        wrong = {line["code"]: line["measured"] for line in card["lines"]
                 if line["verdict"] not in ("ok", "none")}  # fmt: skip
        if not wrong and card["truth"]["coverage"] == 1:
            break
    assert wrong == {}
    assert card["class"] == "A"
    assert card["truth"]["coverage"] == 1
    kept = json.loads((tmp_path / "accuracy-refdev.json").read_text())
    assert (kept["class"], kept["reason"]) == ("A", card["reason"])


def test_a_class_below_the_least_one_is_an_exit_code(tmp_path: Path) -> None:
    done = check(
        tmp_path, "--min-class", "B", "--badge", "badge.svg", "--no-keep", REFDEVICE_STUBS="0"
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""  # torch prints a C++ stack where stubs are missed
    assert "accuracy class E" in done.stdout
    assert "registerPrivateUse1Methods" in done.stdout
    assert "device times: E" in (tmp_path / "badge.svg").read_text()
    assert not (tmp_path / "accuracy-refdev.json").exists()


@pytest.mark.parametrize("kineto", ["0", "1"])
@pytest.mark.parametrize("stubs", ["0", "1"])
def test_nothing_stands_around_the_scorecard(tmp_path: Path, stubs: str, kineto: str) -> None:
    """torch prints a C++ stack for every operator of a backend without ProfilerStubs."""
    done = check(tmp_path, "--no-keep", REFDEVICE_STUBS=stubs, REFDEVICE_KINETO=kineto)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("refdev with torch ")


def test_a_backend_without_a_route_is_judged_by_what_it_has(tmp_path: Path) -> None:
    """As the first foreign backend that the kit ran on: no stubs, no profiler, no events."""
    card = scorecard(tmp_path, REFDEVICE_STUBS="0")
    assert card["class"] == "E"
    wrong = {line["code"] for line in card["lines"] if line["verdict"] not in ("ok", "none")}
    assert wrong == {"registered"}
    assert card["counts"]["none"] == len([x for x in card["lines"] if x["verdict"] == "none"])


def test_a_backend_without_a_device_is_none(tmp_path: Path) -> None:
    done = check(tmp_path, REFDEVICE_FAULT="no_device")
    assert done.returncode == 2
    assert "'refdev' has no device that works: refdev: no device could be started" in done.stderr


def test_a_recording_carries_the_class(tmp_path: Path) -> None:
    script = tmp_path / "record.py"
    script.write_text("""
import json, refdevice, torch
from tb_privateuse1 import capture
from tb_privateuse1.capture import accuracy
same = accuracy.identity("refdev")
def record(name, content):
    accuracy.result_file("refdev").write_text(content)
    with capture.profile(on_trace_ready=capture.tensorboard_trace_handler(name)):
        torch.ones(8, device="refdev").add_(1)
why = {"checked": "2026-01-02", "reason": "the line query warns"}
record("known", json.dumps({**same, "class": "B", **why}))
record("older", json.dumps({**same, "class": "B", "checked": "2026-01-02"}))
record("other", json.dumps({**same, "torch": "1.0", "class": "B", "checked": "2026-01-02"}))
record("broken", "{")
""")
    path = os.pathsep.join([str(ROOT), str(ROOT / "examples" / "refdevice")])
    env = {**os.environ, "PYTHONPATH": path, "TB_PRIVATEUSE1_CACHE": str(tmp_path)}
    done = warm_python.run(warm_python.TORCH, [script], cwd=tmp_path, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    found = {
        name: json.loads(next((tmp_path / name).glob("*.pt.trace.json")).read_text())
        for name in ("known", "older", "other", "broken")
    }
    beside = {
        name: json.loads(next((tmp_path / name).glob("*.kernel_event.json")).read_text())
        for name in found
    }
    classes = {name: one["tb_privateuse1"]["accuracy"] for name, one in found.items()}
    assert classes == {
        "known": {"class": "B", "checked": "2026-01-02", "reason": "the line query warns"},
        "older": {"class": "B", "checked": "2026-01-02"},
        "other": None,
        "broken": None,
    }
    assert classes == {name: one["accuracy"] for name, one in beside.items()}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--only", "nothing"], "there is no line nothing"),
        (["--only", "query", "--min-class", "A"], "needs all lines"),
        (["--device", "other"], "there is no PrivateUse1 backend 'other'"),
        (["--device", "refdev:x"], "no number of a device"),
    ],
)
def test_wrong_options_are_named(tmp_path: Path, options: list[str], says: str) -> None:
    done = check(tmp_path, *options)
    assert done.returncode == 2
    assert says in done.stderr
