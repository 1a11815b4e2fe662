"""Sources of generated kernels in the folder beside an execution trace."""

from __future__ import annotations

import json
from pathlib import Path

from tb_privateuse1 import inference, readers
from tb_privateuse1.readers.execution_trace.kernel_files import kernel_sources
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.lookups.kernel_source import kernel_source
from tests.support import execution_traces, make
from tests.support.execution_traces import node

NAME = "triton_poi_fused_add_0"
FILE = f"""# AOT ID: ['0_inference']
import torch
async_compile = AsyncCompile()

# kernel path: /tmp/torchinductor/ab/cab.py
# Original ATen: [aten.add]
{NAME} = async_compile.triton('{NAME}', '''
import triton
@triton.jit
def {NAME}(in_ptr0, xnumel, XBLOCK : tl.constexpr):
    tl.load(in_ptr0)
''', device_str='cuda')

cpp_fused_mul_1 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C"  void  kernel(const float* in_ptr0)
''')

async_compile.wait(globals())
"""
"""As ``torch/_inductor/codegen/wrapper.py`` of torch 2.13 writes them."""


def beside(folder: Path, **files: str) -> str:
    """Write an execution trace with generated files beside it, and return its path."""
    path = folder / "et.json"
    path.write_text(execution_traces.text(node(11, "aten::add")))
    (folder / "et_resources").mkdir()
    for name, text in files.items():
        (folder / "et_resources" / f"{name}.py").write_text(text)
    return str(path)


def trace_of(folder: Path, **files: str) -> Trace:
    """Return a recording of a kernel with this file beside it."""
    trace = folder / "w.1.pt.trace.json"
    add = make.op("aten::add", 0, 10, **{"Record function id": 11})
    events = (add, make.launch(2, 3, 1), make.kernel(NAME, 5, 9, 1), make.launch(4, 5, 2),
              make.kernel("other", 12, 14, 2))  # fmt: skip
    trace.write_text(json.dumps(make.document(*events)))
    raw = readers.complete(readers.read(str(trace)), [beside(folder, **files)])
    return inference.build_trace(raw, None)


def test_each_kernel_of_a_file(tmp_path: Path) -> None:
    triton, cpp = kernel_sources(beside(tmp_path, graph=FILE))
    assert (triton.name, triton.file) == (NAME, "graph.py")
    assert triton.text.startswith("# kernel path: /tmp/torchinductor/ab/cab.py\n# Original ATen")
    assert triton.text.endswith("    tl.load(in_ptr0)\n")
    assert cpp.name == "cpp_fused_mul_1"
    assert cpp.text == 'extern "C"  void  kernel(const float* in_ptr0)\n'


def test_a_kernels_row_shows_its_source(tmp_path: Path) -> None:
    t = trace_of(tmp_path, first=FILE, second=FILE.replace("add]", "add, aten.relu]"))
    assert [t.text(one) for one in t.kernels.name.tolist()] == [NAME, "other"]
    sources = kernel_source(t, index=0).sources
    assert [one.file for one in sources] == ["first.py", "second.py"]
    assert "@triton.jit" in sources[0].text
    assert kernel_source(t, index=1).sources == ()


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.py").write_text(FILE)
    (tmp_path / "run").mkdir()
    path = beside(tmp_path / "run")
    (tmp_path / "run" / "et_resources" / "a.py").symlink_to(tmp_path / "elsewhere" / "secret.py")
    assert kernel_sources(path) == ()
    (tmp_path / "run" / "other_resources").symlink_to(tmp_path / "elsewhere")
    assert kernel_sources(str(tmp_path / "run" / "other.json.gz")) == ()


def test_other_files_have_no_kernels(tmp_path: Path) -> None:
    path = beside(tmp_path, empty="", broken="x = async_compile.triton('x', '''never closed")
    (tmp_path / "et_resources" / "note.txt").write_text(FILE)
    assert kernel_sources(path) == ()
