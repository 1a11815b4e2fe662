"""What is installed, from a wheel, a source archive or the repository, works on its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1 import __version__, views
from tests.support.server import serve

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("packaging")]  # one build for all

ROOT = Path(__file__).parents[2]
STATIC = "tb_privateuse1/server/static"
REPORT = "tb_privateuse1/export/reports/html/bundle"


def run(*command: str | Path, **options: Any) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(
        [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, **options,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def copy(target: Path, bundle: bool) -> Path:
    """The repository as a clone has it: nothing is built in the tree that we test."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    for name in run(*listed, cwd=ROOT).split("\0"):
        if name and (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    for built in (STATIC, REPORT) if bundle else ():
        if (ROOT / built).exists():
            shutil.copytree(ROOT / built, target / built)
    return target


def environment(folder: Path, *requirements: str | Path, path: str | None = None) -> Path:
    """The Python of a fresh virtual environment with these installed."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    found = {**os.environ, "PATH": path} if path else None
    install: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-compile",  # Python compiles what is imported; that is a small part
    ]
    run(*install, *requirements, env=found)
    return python


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy(tmp_path_factory.mktemp("tree"), bundle=True)


@pytest.fixture(scope="module")
def built(tree: Path) -> list[Path]:
    """The wheel and the source archive."""
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--sdist", tree)
    return sorted((tree / "dist").iterdir(), key=lambda path: path.suffix, reverse=True)


@pytest.fixture(scope="module")
def without_node(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A search path on which there is a shell and nothing else."""
    folder = tmp_path_factory.mktemp("bin")
    for name in ("sh", "env"):
        (folder / name).symlink_to(shutil.which(name) or name)
    return str(folder)


def expected(modules: Path) -> set[str]:
    """The package's files that an installation has."""
    kinds = (
        "*.py",
        "cli/backend_template/**/*.txt",
        "cli/options.json",
        "i18n/**/*.toml",
        "inference/**/*.txt",
        "py.typed",
        "server/static/**/*",
        "export/reports/html/bundle/*",
        "server/agents/texts/*.txt",
        "views/*.pyi",
    )
    found = {path for kind in kinds for path in (modules / "tb_privateuse1").rglob(kind)}
    return {path.relative_to(modules).as_posix() for path in found if path.is_file()}


def smoke(python: Path, logdir: Path, cwd: Path) -> None:
    """The installed command and the installed plugin answer; away from the repository."""
    command = python.with_name("tb-privateuse1")
    assert run(command, "--version", cwd=cwd).strip() == __version__
    listed = run(command, "view", "--list", cwd=cwd)
    assert [line.split()[0] for line in listed.splitlines()] == list(views.VIEWS)
    told = run(command, "view", "overview", logdir, "--run", "mlp", "--json", cwd=cwd)
    with serve("--logdir", logdir, python=str(python), cwd=cwd) as server:
        assert server.plugin("overview?run=mlp").body.decode() == told
        assert len(server.plugin("runs").json["runs"]) == 4
        entry = server.plugin("static/index.js")
        assert entry.status == 200
        assert entry.body == next(python.parents[1].rglob(f"{STATIC}/index.js")).read_bytes()
        assert b"missing from this installation" not in entry.body


def test_the_wheel_has_the_package_and_nothing_else(tree: Path, built: Sequence[Path]) -> None:
    names = set(zipfile.ZipFile(built[0]).namelist())
    info = f"tb_privateuse1-{__version__}.dist-info/"
    assert {name for name in names if not name.startswith(info)} == expected(tree)
    assert {f"{STATIC}/index.js", "tb_privateuse1/py.typed", f"{info}licenses/LICENSE"} <= names
    assert "tb_privateuse1/inference/host_only.txt" in names
    assert any(name.startswith(f"{STATIC}/assets/") for name in names)
    points = zipfile.ZipFile(built[0]).read(info + "entry_points.txt").decode()
    assert "[tensorboard_plugins]\nprivateuse1 = tb_privateuse1.server.loader:Loader\n" in points
    assert "[console_scripts]\ntb-privateuse1 = tb_privateuse1.cli:main\n" in points


def test_the_source_archive_needs_no_node(
    built: Sequence[Path], without_node: str, tmp_path: Path
) -> None:
    with tarfile.open(built[1]) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run(*wheel, "-w", tmp_path / "out", source, env={**os.environ, "PATH": without_node})
    (made,) = (tmp_path / "out").iterdir()
    assert zipfile.ZipFile(made).namelist() == zipfile.ZipFile(built[0]).namelist()


@pytest.mark.exhaustive
def test_the_repository_installs_without_node(
    without_node: str, logdir: Path, tmp_path: Path
) -> None:
    """The same files as in the wheel, in an environment with what is declared and no more."""
    clone = copy(tmp_path / "clone", bundle=False)
    python = environment(tmp_path / "venv", clone, path=without_node)
    smoke(python, logdir, tmp_path)
