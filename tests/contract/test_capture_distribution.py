"""The distribution of the capture alone: its files, its size, and that they are for Python 3.9."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tb_privateuse1 import __version__
from tests.support.sources import PACKAGE

ROOT = PACKAGE.parent
FOLDER = ROOT / "distributions" / "capture"
STUB = Path(__file__).parents[1] / "support" / "torch_stub.py"
MOST_BYTES = 100_000
"""90,000 until recordings carried the class of their backend, which took 1,500."""

MODULES = [
    PACKAGE / "__init__.py",
    PACKAGE / "trace" / "version.py",
    *sorted((PACKAGE / "capture").rglob("*.py")),
]
CALLBACKS = {
    PACKAGE / "capture/frameworks" / f"{name}.py" for name in ("lightning", "transformers")
}
"""Each imports its framework, whose user has it."""


def run(*command: str | Path, **options: object) -> str:
    """Return the output of a command that must succeed."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, **options
    )  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_each_file_has_the_grammar_of_python_3_9(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 9))


@pytest.mark.long
def test_no_file_needs_a_later_library_than_that_of_python_3_9() -> None:
    found = run_vermin(*MODULES, FOLDER / "setup.py")
    assert found == ""


def test_a_later_library_is_found(tmp_path: Path) -> None:
    later = tmp_path / "later.py"
    later.write_text("dict(zip('a', 'b', strict=True))\n")
    assert "zip(strict)" in run_vermin(later)


def run_vermin(*paths: Path) -> str:
    """Return what needs a Python later than 3.9."""
    program = "import sys; from vermin import main; sys.exit(main())"
    options = ["--target=3.9-", "--violations", "--quiet", "--no-tips", "--processes=1"]
    command = [sys.executable, "-c", program, *options, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the wheel and the source archive, built from a copy of the repository."""
    tree = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__", "build", "sources", "static", "*.egg-info")
    shutil.copytree(PACKAGE, tree / PACKAGE.name, ignore=ignored)
    shutil.copytree(FOLDER, tree / "distributions" / "capture", ignore=ignored)
    shutil.copy(ROOT / "LICENSE", tree / "LICENSE")
    out = tree / "dist"
    # By way of the source archive, which must hold all that the wheel needs.
    run(
        sys.executable, "-m", "build", "--no-isolation", "--outdir", out,
        tree / "distributions" / "capture",
    )  # fmt: skip
    return sorted(out.iterdir(), key=lambda path: path.suffix, reverse=True)


@pytest.mark.long
def test_the_wheel_has_the_capture_and_nothing_else(built: list[Path]) -> None:
    wheel = built[0]
    assert wheel.name == f"tb_privateuse1_capture-{__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    info = f"tb_privateuse1_capture-{__version__}.dist-info/"
    files = {path.relative_to(ROOT).as_posix() for path in MODULES}
    assert {n for n in names if not n.startswith(info)} == {*files, "tb_privateuse1/py.typed"}
    assert f"{info}licenses/LICENSE" in names
    assert wheel.stat().st_size < MOST_BYTES
    about = Parser().parsestr(zipfile.ZipFile(wheel).read(info + "METADATA").decode())
    assert about["Requires-Python"] == ">=3.9"
    assert about.get_all("Requires-Dist") is None


@pytest.mark.long
def test_the_source_archive_has_the_sources(built: list[Path]) -> None:
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"sources/{path.relative_to(ROOT).as_posix()}" for path in MODULES} <= names


@pytest.mark.long
@pytest.mark.parametrize("python", ["python3.9", "python3.10", sys.executable])
def test_what_is_installed_works_alone(built: list[Path], tmp_path: Path, python: str) -> None:
    """All modules are imported, with a stub of torch; the dashboard's parts say what to install."""
    found = interpreter(python)
    if found is None:
        pytest.skip(f"no {python} on this machine")
    zipfile.ZipFile(built[0]).extractall(tmp_path)
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in MODULES
        if path not in CALLBACKS
    ]
    script = tmp_path / "script.py"
    script.write_text(f"""
import importlib, sys
sys.path.insert(0, {str(STUB.parent)!r})
import torch_stub
torch_stub.install()
for name in {names}:
    importlib.import_module(name)
from tb_privateuse1 import capture
assert "torch.profiler.profiler" in [one.__module__ for one in capture.profile.__mro__]
import tb_privateuse1
for name in ("open", "Selection"):
    try:
        getattr(tb_privateuse1, name)
    except ModuleNotFoundError as error:
        assert "pip install tb-privateuse1" in str(error), error
    else:
        raise AssertionError(name)
""")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    run(found, "-S", script, cwd=tmp_path, env=environment)  # without what is installed


def interpreter(name: str) -> str | None:
    """Return the path of a Python that starts; pyenv has names on the path that do not."""
    homes = Path.home() / ".pyenv" / "versions"
    candidates = [shutil.which(name), *map(str, sorted(homes.glob(f"*/bin/{name}")))]
    for found in filter(None, candidates):
        if subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    return None
