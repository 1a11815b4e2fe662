"""Kernels' names that people read: family, operation, data type and tile.

``vendors.kernel_names`` reads the names of libraries. Here are those of compilers of operators, and
names by their words. A name that nothing knows is demangled and shortened. Of two kernels with the
same display name each keeps its own full name.
"""

from tb_privateuse1.analysis.kernel_names.readable_name import display_name, read_name
from tb_privateuse1.analysis.kernel_names.trace_names import (
    display_names,
    name_fields,
    strings_with,
)
from tb_privateuse1.vendors.kernel_names import KernelName

__all__ = [
    "KernelName",
    "display_name",
    "display_names",
    "name_fields",
    "read_name",
    "strings_with",
]
