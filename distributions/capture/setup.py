"""Copies the capture's sources from the repository; all else is in pyproject.toml.

A distribution holds files of its own folder only. The source archive carries the copy.
"""

import shutil
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
PACKAGE = REPOSITORY / "tb_privateuse1"


def copy_sources() -> None:
    """Copy the capture, the package's own module, the version and the license to here."""
    target = HERE / "sources" / "tb_privateuse1"
    shutil.rmtree(HERE / "sources", ignore_errors=True)
    shutil.copytree(
        PACKAGE / "capture", target / "capture", ignore=shutil.ignore_patterns("__pycache__")
    )
    (target / "trace").mkdir()
    for name in ("__init__.py", "py.typed", "trace/version.py"):
        shutil.copy(PACKAGE / name, target / name)
    shutil.copy(REPOSITORY / "LICENSE", HERE / "LICENSE")


if (PACKAGE / "capture").is_dir():  # not in a source archive
    copy_sources()
setup()
