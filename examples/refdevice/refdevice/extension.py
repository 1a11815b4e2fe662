"""Compiles the C++ extension: once per torch and per state of the sources, then from the cache."""

import hashlib
import importlib.util
import os
import platform
import shutil
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

SOURCES = Path(__file__).resolve().parent.parent / "csrc"
NAME = "refdevice_C"
# -O1: the arithmetic is torch's; what is ours is compiled in half the time.
FLAGS = ["-O1", "-std=c++20", "-Wall", "-DUSE_KINETO", "-DFMT_HEADER_ONLY"]


OPERATORS = {"allocator", "autocast", "fallback", "hooks", "operators", "serialization", "shapes"}
"""Sources that need torch's headers of operators."""


def build_directory() -> Path:
    """Name the place for this torch's build of these sources.

    Below REFDEVICE_BUILD_DIR, or `build` beside the sources.
    """
    import torch

    key = hashlib.sha256()
    for part in (torch.__version__, platform.machine(), sys.version, *FLAGS):
        key.update(part.encode())
    for source in sorted(SOURCES.iterdir()):
        key.update(source.name.encode() + source.read_bytes())
    root = os.environ.get("REFDEVICE_BUILD_DIR") or SOURCES.parent / "build"
    return Path(root) / f"torch-{torch.__version__}-{key.hexdigest()[:16]}"


def load() -> ModuleType:
    """Import the extension module, compiled first if need be."""
    directory = build_directory()
    library = directory / f"{NAME}.so"
    if not library.exists():
        return compile_extension(directory)
    spec = importlib.util.spec_from_file_location(NAME, library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_extension(directory: Path) -> ModuleType:
    """Compile in a directory of this process and leave the library in `directory`.

    Processes that want it at the same time each compile, and one that is killed blocks no other.
    """
    missing = [tool for tool in (os.environ.get("CXX", "c++"), "ninja") if not find_tool(tool)]
    if missing:
        raise RuntimeError(f"refdevice needs {' and '.join(missing)} to compile its C++ extension")
    from torch.utils import cpp_extension

    os.environ["PATH"] = sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]
    directory.mkdir(parents=True, exist_ok=True)
    workplace = directory / f"process-{os.getpid()}"
    workplace.mkdir()
    kineto = [Path(path) / "kineto" for path in cpp_extension.include_paths()]
    module = cpp_extension.load(
        name=NAME,
        sources=_units(workplace),
        extra_cflags=FLAGS,
        extra_include_paths=[str(path) for path in kineto if path.is_dir()],
        build_directory=str(workplace),
        verbose=os.environ.get("REFDEVICE_VERBOSE") == "1",
    )
    (workplace / f"{NAME}.so").replace(directory / f"{NAME}.so")
    shutil.rmtree(workplace)
    return module


def _units(workplace: Path) -> list[str]:
    """Write two files that include all sources, and return their paths.

    Half the time of a compiler is torch's headers: two files read them twice, and keep two cores
    busy. Those that define or call operators need the larger headers.
    """
    units: dict[str, list[Path]] = {"operators": [], "runtime": []}
    for source in sorted(SOURCES.glob("*.cpp")):
        units["operators" if source.stem in OPERATORS else "runtime"].append(source)
    for name, sources in units.items():
        text = "".join(f'#include "{source}"\n' for source in sources)
        (workplace / f"{name}.cpp").write_text(text)
    return [str(workplace / f"{name}.cpp") for name in units]


def find_tool(name: str) -> str | None:
    """Find a program, also where a virtual environment that is not activated has it."""
    return shutil.which(name) or shutil.which(name, path=sysconfig.get_path("scripts"))
