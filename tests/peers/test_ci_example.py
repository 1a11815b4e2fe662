"""The commands of `examples/ci/workflow.yml` run, and write what the workflow keeps."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "ci"


def steps() -> list[dict[str, Any]]:
    jobs = yaml.safe_load((EXAMPLE / "workflow.yml").read_text("utf-8"))["jobs"]
    found: list[dict[str, Any]] = jobs["speed"]["steps"]
    return found


@pytest.mark.long
@pytest.mark.exhaustive
def test_the_workflow_s_commands_run(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "examples" / "ci")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    summary = tmp_path / "summary.md"
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "TESTS": "examples/ci",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    commands = [
        line
        for step in steps()
        for line in str(step.get("run", "")).splitlines()
        if line.startswith(("pytest", "tb-privateuse1"))
    ]
    assert len(commands) == 3
    for command in commands:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment,
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    kept = next(step["with"]["path"] for step in steps() if "upload" in str(step.get("uses")))
    for path in kept.split():
        assert (tmp_path / path).exists(), path
    assert "steady steps" in summary.read_text("utf-8")
