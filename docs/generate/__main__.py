"""Write every generated document, or with ``--check`` report the stale ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from docs.generate import (
    command_line,
    evidence,
    packaged,
    rules,
    skeleton,
    stubs,
    torch_versions,
)

DOCS = Path(__file__).parents[1]
_PACKAGE = DOCS.parent / "tb_privateuse1"
_SKELETON = _PACKAGE / "cli" / "backend_template" / "csrc"
_TEXTS = _PACKAGE / "server" / "agents" / "texts"

DOCUMENTS: dict[Path, Callable[[str], str]] = {
    DOCS / "internals" / "advice.md": evidence.with_evidence,
    DOCS / "reference" / "command-line.md": command_line.with_commands,
    DOCS / "reference" / "rules.md": rules.with_rules,
    DOCS / "reference" / "torch-versions.md": torch_versions.with_internals,
    _PACKAGE / "views" / "methods.pyi": stubs.view_methods,
    _TEXTS / "definitions.txt": packaged.definitions,
    _TEXTS / "skill.txt": packaged.skill,
    **{_SKELETON / f"{name}.txt": skeleton.shared(name) for name in skeleton.SHARED},
}


def stale() -> list[Path]:
    """Return the documents that differ from what their generator makes of them."""
    return [path for path, made in DOCUMENTS.items() if made(path.read_text()) != path.read_text()]


def main(arguments: list[str]) -> int:
    """Write the documents, or with ``--check`` return 1 if one is stale."""
    found = stale()
    if arguments == ["--check"]:
        for path in found:
            print(f"{path.relative_to(DOCS.parent)} is stale: run `make api`", file=sys.stderr)
        return 1 if found else 0
    for path in found:
        path.write_text(DOCUMENTS[path](path.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
