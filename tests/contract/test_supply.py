"""What a release is made of: tested versions, a bill of materials, and actions by their commit."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from tools import supply

ROOT = Path(__file__).parents[2]
WORKFLOWS = [*(ROOT / ".github/workflows").glob("*.yml"), ROOT / "examples/ci/workflow.yml"]


def test_constraints_pin_every_dependency_of_users() -> None:
    """Each within the bounds of ``pyproject.toml``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = {
        one["name"]: one["version"]
        for one in supply.bill(supply.CONSTRAINTS.read_text())["components"]
    }
    wanted = [*project["dependencies"]]
    for extra in supply.EXTRAS:
        wanted += project["optional-dependencies"][extra]
    for one in map(Requirement, wanted):
        assert one.specifier.contains(pinned[supply.normalized(one.name)]), one


def test_hashes_come_from_a_report_of_pip() -> None:
    """They are in the file, and in the bill."""
    report = {
        "install": [
            {"metadata": {"name": "Two_Words"},
             "download_info": {"archive_info": {"hashes": {"sha256": "a" * 64}}}},
            {"metadata": {"name": "here"}, "download_info": {"dir_info": {}}},
        ]
    }  # fmt: skip
    text = supply.constraints({"here": "1", "two-words": "2.0"}, supply.hashes_of(report))
    assert text.splitlines()[2:] == ["here==1", f"two-words==2.0 --hash=sha256:{'a' * 64}"]
    made = supply.bill(text, "3.1")
    assert (made["bomFormat"], made["metadata"]["component"]["version"]) == ("CycloneDX", "3.1")
    assert made["components"][1]["purl"] == "pkg:pypi/two-words@2.0"
    assert made["components"][1]["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]


def test_no_registry_is_named() -> None:
    for path in (supply.CONSTRAINTS, supply.HASHED):
        assert "://" not in path.read_text()


def test_each_tested_version_has_a_hash() -> None:
    """For one system; the versions are those of all, without torch, which users choose."""
    tested = supply.bill(supply.CONSTRAINTS.read_text())["components"]
    hashed = supply.bill(supply.HASHED.read_text())["components"]
    assert all(len(one.pop("hashes")) == 1 for one in hashed)
    assert hashed == tested
    assert "torch" not in {one["name"] for one in hashed}


def test_actions_are_pinned_by_commit() -> None:
    used = [line for file in WORKFLOWS for line in re.findall(r"uses: (.*)", file.read_text())]
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", one) for one in used), used
