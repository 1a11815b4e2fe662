"""The skeleton of ``new-backend`` compiles with this torch, and its own tests pass."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tb_privateuse1 import cli
from tests.support.documents import ROOT

pytestmark = pytest.mark.long


def test_the_skeleton_compiles_and_its_tests_pass(tmp_path: Path) -> None:
    assert cli.main(["new-backend", "acme", str(tmp_path)]) == 0
    scripts = sysconfig.get_path("scripts")  # ninja, where the environment is not activated
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    for command in (
        ["setup.py", "-q", "build_ext", "--inplace"],
        ["-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "tests"],
    ):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert "warning:" not in done.stdout
    assert " passed" in done.stdout
