"""What the page *Bring your backend* claims: lines to write, what class A needs, module layout."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tb_privateuse1.testing.conformance.accuracy import grade
from tb_privateuse1.testing.conformance.lines import GUIDE, Answer, Line
from tb_privateuse1.testing.conformance.requirements import (
    REQUIREMENTS,
    event_times,
    launch_log,
    memory,
    streams_named,
)
from tests.device.test_bring_your_backend import snippets
from tests.device.testing.conformance.test_requirements import GOOD
from tests.support.documents import ROOT

TEXT = (ROOT / GUIDE).read_text()
HOOKS = {
    "event_times": event_times,
    "elapsed_streams": streams_named,
    "marker_streams": streams_named,
    "reportMemoryUsageToProfiler": memory,
    "start_launch_log": launch_log,
}
"""The requirement whose check asks for each function of the second table."""
_DRIVERS = ("void acme_wait(", "struct AcmeKernel")
"""In the blocks that show the vendor's driver: it is there already."""


def section_of(heading: str) -> str:
    (found,) = [part for part in re.split(r"^## ", TEXT, flags=re.M) if part.startswith(heading)]
    return found


def test_the_lines_to_write_are_those_of_the_snippets() -> None:
    for step, heading in (("least", "Least"), ("next", "Next"), ("best", "Best")):
        written = [
            line
            for block in re.findall(r"^```cpp\n(.*?)^```", section_of(heading), re.M | re.S)
            if not any(one in block for one in _DRIVERS)
            for line in block.splitlines()
            if line.strip()
        ]
        (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| [{step}]")]
        assert f"{len(written)} lines" in row


def test_the_functions_in_python_are_counted() -> None:
    count = section_of("Next").count("\ndef ")
    assert count == 5
    assert "| five functions in Python" in TEXT


def answer_without(hook: str, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Return what the requirement says of a backend that has all functions but ``hook``."""
    has = {name: None for name in HOOKS if name != hook}
    stream, silent = SimpleNamespace(stream_id=1), _Silent()
    accelerator = SimpleNamespace(current_stream=lambda: stream)
    played = SimpleNamespace(accelerator=accelerator, Stream=lambda device: stream)
    monkeypatch.setattr(streams_named, "torch", played)
    monkeypatch.setattr(streams_named, "_wrong", lambda *_: [])
    monkeypatch.setattr(memory, "autograd_profile", lambda **_: silent)
    subject: Any = SimpleNamespace(
        name="acme",
        device="cpu",
        module=SimpleNamespace(**has),
        read_back=lambda: 0,
        launch=lambda count: None,
    )
    return HOOKS[hook].REQUIREMENT.check(subject)


class _Silent:
    """A profiler that sees no report of the allocator."""

    kineto_results = SimpleNamespace(events=list)

    def __enter__(self) -> _Silent:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("hook", HOOKS)
def test_class_a_needs_what_the_table_says(hook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = answer_without(hook, monkeypatch)
    code = HOOKS[hook].REQUIREMENT.code
    fine = Answer("ok", "")
    card = [Line(one, answer if one.code == code else fine) for one in REQUIREMENTS]
    needed = {"A": "no", "B": "yes"}[grade(card, GOOD).letter]
    (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{hook}`")]
    assert row.split("|")[2].strip() == needed


def test_the_modules_of_the_page_import_each_other(tmp_path: Path) -> None:
    package = tmp_path / "acme"
    package.mkdir()
    first, *functions = snippets("python")
    (package / "_C.py").write_text("def event_times(): return (1, 2)\n")
    imports = [line for line in first.splitlines() if "import _C" in line]
    (package / "__init__.py").write_text("\n".join(imports))
    (package / "device.py").write_text("\n".join(functions))
    script = "import acme; assert acme.device.event_times() == (1, 2)"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)


def test_a_plain_folder_is_said_to_be_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tb_privateuse1.testing.conformance import command

    (tmp_path / "plain_acme").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(command, "_subject", lambda _: "no PrivateUse1 backend is loaded")
    assert command.main(["--check", "--import", "plain_acme"]) == command.NO_BACKEND
    said = capsys.readouterr().err
    assert f"'plain_acme' is the plain folder {tmp_path / 'plain_acme'}" in said
    assert command.main(["--check", "--import", "json"]) == command.NO_BACKEND
    assert "folder" not in capsys.readouterr().err
