"""``new-backend`` writes a skeleton; ``tests/device/test_new_backend.py`` compiles and runs it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

from docs.generate import skeleton
from tb_privateuse1 import cli


def test_the_files_have_the_name_of_the_backend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["new-backend", "acme_x1", str(tmp_path / "new")]) == 0
    printed = capsys.readouterr().out.splitlines()
    written = [path for path in (tmp_path / "new").rglob("*") if path.is_file()]
    assert sorted(map(str, written)) == sorted(printed[:-1])
    assert "setup.py build_ext" in printed[-1]
    names = {path.relative_to(tmp_path / "new").as_posix() for path in written}
    assert {"acme_x1/__init__.py", "csrc/runtime.cpp", "tests/test_backend.py"} <= names
    for path in written:
        text = path.read_text()
        assert "@NAME@" not in text
        assert "refdev" not in text
        if path.suffix == ".py":
            ast.parse(text)


def test_the_workflow_fails_below_a_class(tmp_path: Path) -> None:
    cli.main(["new-backend", "acme", str(tmp_path)])
    text = (tmp_path / ".github" / "workflows" / "profiler.yml").read_text()
    runs = [step.get("run", "") for step in yaml.safe_load(text)["jobs"]["check"]["steps"]]
    (check,) = [run for run in runs if "--check" in run]
    assert check.startswith("python -m tb_privateuse1.capture --check --import acme --device acme")
    assert "--min-class C" in check
    # Python finds the folder of the sources before what is installed: the library must be there.
    assert "python setup.py build_ext --inplace" in " ".join(runs)
    assert not any(run.endswith(" .") for run in runs)
    # The kit is no part of the capture's own distribution.
    assert any("pip install" in run and "tb-privateuse1" in run.split() for run in runs)


@pytest.mark.parametrize("name", ["Acme", "a-b", "class", "1a", "a__b", ""])
def test_a_name_that_is_no_package(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["new-backend", name, str(tmp_path / "new")]) == 2
    assert "NAME is in snake_case" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_name_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["new-backend", "json", str(tmp_path / "new")]) == 2
    assert "there is a Python package json" in capsys.readouterr().err


def test_a_folder_of_that_name_is_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``python -m`` has the working directory in its path, and a vendor may have made DIR there."""
    (tmp_path / "acme").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert cli.main(["new-backend", "acme", "acme"]) == 0
    ignored = (tmp_path / "acme" / ".gitignore").read_text().splitlines()
    assert {"build/", "*.so"} <= set(ignored)


def test_a_directory_with_files_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert cli.main(["new-backend", "acme", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_directory_that_cannot_be_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert cli.main(["new-backend", "acme", str(tmp_path / "file" / "new")]) == 2
    assert "Not a directory" in capsys.readouterr().err


def test_lines_of_the_reference_device_that_a_vendor_does_not_copy() -> None:
    text = """\
#include "config.h"
#include "device.h"
namespace refdev {
  CallScope call("refdevEventRecord");
  return config()->unit; // reference only
  // Vendor: return us;
  // Reference only {
  hidden();
  // Reference only }
} // namespace refdev: of refdev
"""
    assert list(skeleton.lines(text)) == [
        '#include "runtime.h"',
        "namespace @NAME@_backend {",
        "  return us;",
        "} // namespace @NAME@_backend: of @NAME@",
    ]
