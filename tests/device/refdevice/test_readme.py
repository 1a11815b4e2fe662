"""The README names what exists, no more and no less."""

import re

import pytest
import refdevice

from .conftest import EXAMPLE

README = (EXAMPLE / "README.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading."""
    section = README.split(f"\n## {heading}", 1)[1]
    lines = [line for line in section.split("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_setting_and_its_default():
    described = {name.strip("`"): default for name, default, _ in rows("Settings")}
    settings = refdevice.config()
    assert list(described) == list(settings)
    for name, default in described.items():
        assert type(settings[name])(default) == settings[name]


def test_every_workload():
    described = {name.strip("`") for name, _ in rows("Workloads")}
    modules = {path.stem for path in (EXAMPLE / "refdevice" / "workloads").glob("*.py")}
    assert described == modules - {"__init__", "script"}


@pytest.mark.parametrize("suffix", [".cpp", ".h"])
def test_every_source(suffix):
    described = {
        name for cells in rows("What is where") for name in re.findall(r"`(\w+)`", cells[0])
    }
    sources = {path.stem for path in (EXAMPLE / "csrc").glob(f"*{suffix}")}
    assert sources <= described


def test_every_source_says_what_a_vendor_does_with_it():
    """In its first lines: copy, replace, or leave it."""
    for path in (EXAMPLE / "csrc").glob("*.cpp"):
        head = "\n".join(path.read_text().splitlines()[:4])
        assert re.search(r"\b[Cc]opy|Replace:|Not for a vendor", head), path.name
        assert head.startswith("//"), path.name
