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


def test_lines_of_comment_are_read_once() -> None:
    # By the square of their number these would take hours.
    comments = "# a\n" * 500_000
    assert [one.name for one in kernels("a.py", f"{comments}x = 1\n{TEXT}")] == [
        "triton_a",
        "cpp_b",
    ]


def test_the_end_of_a_kernel_is_no_comment_of_the_next_one() -> None:
    first = "a = async_compile.triton('a', '''\n# x\n# y''')\n"
    text = f"{first}# own\nb = async_compile.triton('b', '''z''')\n"
    one, two = kernels("a.py", text)
    assert (one.text, two.text) == ("# x\n# y\n", "# own\nz\n")
    text = text.replace("# own\n", "")
    assert [found.text for found in kernels("a.py", text)] == ["# x\n# y\n", "z\n"]
