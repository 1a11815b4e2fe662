"""Kernels in a file that Inductor has generated."""

from __future__ import annotations

from tb_privateuse1.readers.generated_code import kernels

TEXT = """import torch
# Original ATen: [aten.add]
triton_a = async_compile.triton('triton_a', '''
def triton_a(): pass
''', device_str='cuda')
cpp_b = async_compile.cpp_pybinding(['float*'], r\"\"\"
void kernel();
\"\"\")
async_compile.wait(globals())
"""


def test_each_assignment_is_a_kernel() -> None:
    one, two = kernels("a.py", TEXT)
    assert (one.name, one.file, two.name) == ("triton_a", "a.py", "cpp_b")
    assert one.text == "# Original ATen: [aten.add]\ndef triton_a(): pass\n"
    assert two.text == "void kernel();\n"


def test_of_a_cut_file_the_whole_kernels_count() -> None:
    assert [one.name for one in kernels("a.py", TEXT[: TEXT.index("void")])] == ["triton_a"]
