"""``new-backend``: write the skeleton of a PrivateUse1 backend that the profiler can see."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands

_TEMPLATE = Path(__file__).parent / "backend_template"
_RENAMED = {"package": "@NAME@", "github": ".github", "gitignore": ".gitignore"}
"""What has another name in the skeleton."""


def add(commands: Commands) -> None:
    """Add the command."""
    what = COMMANDS["new-backend"]
    parser = add_command(commands, "new-backend", _new_backend, what, "acme ./acme")
    parser.add_argument("name", metavar="NAME", help="of the device and its package: acme")
    parser.add_argument("directory", metavar="DIR", help="a new or empty one")


def _new_backend(options: argparse.Namespace) -> int:
    _require_name(options.name)
    directory = Path(options.directory)
    try:
        if directory.exists() and any(directory.iterdir()):
            raise UsageError(f"{directory} is not empty")
        for path in write_backend(options.name, directory):
            print(path)
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error
    print(f"Next: cd {directory}; python setup.py build_ext --inplace; python -m pytest tests")
    return 0


def write_backend(name: str, directory: Path) -> list[Path]:
    """Write the files of the backend ``name`` below a directory; return their paths, sorted.

    Raises OSError for a file that exists or cannot be written.
    """
    written = []
    for template in sorted(_TEMPLATE.rglob("*.txt")):
        place = template.relative_to(_TEMPLATE).with_suffix("")
        parts = [_RENAMED.get(part, part).replace("@NAME@", name) for part in place.parts]
        path = directory.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = template.read_text(encoding="utf-8").replace("@NAME@", name)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        written.append(path)
    return sorted(written)


def _require_name(name: str) -> None:
    """Raise UsageError for a name that is no package's, or that is one already."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise UsageError(f"NAME is in snake_case, as a Python package, not {name!r}")
    found = importlib.util.find_spec(name)
    if found is not None and found.origin is not None:  # without an origin it is a mere folder
        raise UsageError(f"there is a Python package {name} already: choose another NAME")
