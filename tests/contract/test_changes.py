"""Changes since the last release: a file each, in a form that a release can join."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tb_privateuse1 import __version__

ROOT = Path(__file__).parents[2]
CHANGES = ROOT / "changes"
LONGEST = 3


def test_each_change_has_a_name_that_a_release_understands() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
    kinds = "|".join(kind["directory"] for kind in config["type"])
    assert ROOT / config["directory"] == CHANGES
    for path in CHANGES.iterdir():
        if path.name != "README.md":
            assert re.fullmatch(rf"\+[a-z0-9-]+\.({kinds})\.md", path.name), path.name
            assert 1 <= len(path.read_text().strip().splitlines()) <= LONGEST, path.name


def test_the_changelog_has_releases_only() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    sections = re.findall(r"^## \[(.+)\]", text, re.MULTILINE)
    assert "Unreleased" not in sections
    assert "<!-- towncrier release notes start -->" in text
    assert __version__ in sections
