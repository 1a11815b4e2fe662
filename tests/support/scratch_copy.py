"""A copy of the repository to carry out what CONTRIBUTING says, and its checks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_repository(target: Path) -> Path:
    """Copy the files that git tracks, or would, without the examples' data; return the folder."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    for name in subprocess.check_output(command, cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).exists() and not name.startswith("examples/runs/"):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)
    return target


def run(tree: Path, *arguments: str) -> str:
    """Run Python in a copy; return its output if it fails, and nothing otherwise."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout if done.returncode else ""


def run_tests(tree: Path, *arguments: str) -> str:
    """Run tests in a copy; return the output if one fails, and nothing otherwise."""
    return run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments)
