"""A registry imports an entry's module when the entry is asked for, and no other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tb_privateuse1.trace.registry import Registry


@pytest.fixture
def colors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[str]:
    """A package of two modules that have a COLOR, and one that cannot be imported."""
    package = tmp_path / "colors_of_a_test"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("red", "green"):
        (package / f"{name}.py").write_text(f"COLOR = '{name}!'\n{name} = '{name}?'\n")
    (package / "broken.py").write_text("raise ValueError('broken')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith(package.name)]:
        monkeypatch.delitem(sys.modules, name)  # of another test
    return Registry(package.name, ("red", "green", "broken"), "COLOR")


def test_names_import_nothing(colors: Registry[str]) -> None:
    assert list(colors) == ["red", "green", "broken"]
    assert (len(colors), "green" in colors, "blue" in colors) == (3, True, False)
    assert "colors_of_a_test.red" not in sys.modules


def test_an_entry_imports_its_module_only(colors: Registry[str]) -> None:
    assert colors["green"] == "green!"
    assert "colors_of_a_test.green" in sys.modules
    assert "colors_of_a_test.red" not in sys.modules


def test_an_entry_has_the_name_of_its_module_by_default(colors: Registry[str]) -> None:
    assert Registry[str]("colors_of_a_test", ("red",))["red"] == "red?"


def test_an_unknown_name_is_a_key_error(colors: Registry[str]) -> None:
    with pytest.raises(KeyError):
        colors["blue"]
    assert colors.get("blue") is None


def test_a_module_that_fails_raises_its_own_error(colors: Registry[str]) -> None:
    with pytest.raises(ValueError, match="broken"):
        colors["broken"]
    assert colors["red"] == "red!"
