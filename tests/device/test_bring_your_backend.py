"""The page *Bring your backend*: its snippets are one program, which compiles with this torch."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest
import torch

from tests.support.documents import ROOT, blocks

_SPEC = importlib.util.spec_from_file_location(
    "extension", ROOT / "examples" / "refdevice" / "refdevice" / "extension.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
extension = importlib.util.module_from_spec(_SPEC)  # the device itself is not compiled for it
_SPEC.loader.exec_module(extension)

PAGE = "bring-your-backend.md"


def snippets(language: str) -> list[str]:
    return [block.code for block in blocks(language) if block.path.name == PAGE]


@pytest.mark.long
def test_the_snippets_compile_in_the_order_of_the_page(tmp_path: Path) -> None:
    source = tmp_path / "page.cpp"
    source.write_text("\n".join(snippets("cpp")))
    include = Path(torch.__file__).parent / "include"
    folders = [include, include / "kineto", Path(sysconfig.get_path("include"))]
    command = [
        os.environ.get("CXX", "c++"),
        *extension.FLAGS,
        "-Werror",
        "-fsyntax-only",
        *(f"-isystem{folder}" for folder in folders),
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_step_has_a_snippet() -> None:
    program = "\n".join(snippets("cpp"))
    for name in (
        "registerPrivateUse1Methods",
        "reportMemoryUsageToProfiler",
        "REGISTER_PRIVATEUSE1_PROFILER",
    ):
        assert name in program


def test_the_module_has_the_names_that_the_capture_asks_for() -> None:
    from tb_privateuse1.capture import result_rows

    defined = "\n".join(snippets("python"))
    for code in snippets("python"):
        compile(code, PAGE, "exec")
    for name in (*result_rows._REPORTS, "marker_streams", "start_launch_log", "stop_launch_log"):
        assert f"def {name}()" in defined
