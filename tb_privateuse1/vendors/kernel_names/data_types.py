"""Data types by the names that C++, Triton and vendors' libraries give them."""

from __future__ import annotations

from tb_privateuse1.vendors.kernel_names.cpp_name import NamePart

_NAMES = {
    "bf16": "BFloat16 bfloat16 __nv_bfloat16 __hip_bfloat16 hip_bfloat16 bfloat16_t bf16_t bhalf_t",
    "f16": "Half half __half half_t _Float16 float16_t fp16_t",
    "f32": "float float32_t",
    "tf32": "tfloat32_t",
    "f64": "double float64_t",
    "f8e4m3": "Float8_e4m3fn Float8_e4m3fnuz __nv_fp8_e4m3 float_e4m3_t fp8_t __hip_fp8_e4m3",
    "f8e5m2": "Float8_e5m2 Float8_e5m2fnuz __nv_fp8_e5m2 float_e5m2_t bf8_t __hip_fp8_e5m2",
    "f4": "float_e2m1_t __nv_fp4_e2m1 Float4_e2m1fn_x2",
    "i8": "schar int8_t char",
    "u8": "uchar uint8_t",
    "i16": "short int16_t",
    "i32": "int int32_t",
    "i64": "long llong int64_t",
    "bool": "bool",
}
_WORDS = {
    "bf16": "bf16 bfloat16 bfloat",
    "f16": "fp16 f16 half float16",
    "f32": "fp32 f32 float float32",
    "tf32": "tf32",
    "f64": "fp64 f64 double float64",
    "f8": "fp8 f8",
    "f8e4m3": "e4m3 fp8e4m3",
    "f8e5m2": "e5m2",
    "f4": "fp4 e2m1 f4",
    "mxf8": "mxe4m3 mxfp8",
    "mxf4": "mxe2m1 mxfp4",
    "i8": "int8 i8 s8",
    "i4": "int4 i4",
    "u8": "uint8 u8",
    "i16": "int16 i16",
    "i32": "int32 i32 int",
    "i64": "int64 i64 long",
    "bool": "bool",
}
_BY_NAME = {name: short for short, names in _NAMES.items() for name in names.split()}
_BY_WORD = {word: short for short, names in _WORDS.items() for word in names.split()}


def of_name(name: str) -> str | None:
    """Return the short name of a C++ type without namespaces; None of another type."""
    return _BY_NAME.get(name)


def of_part(part: NamePart) -> str | None:
    """Return the short name of a C++ type; of ``OpaqueType<2>`` only ``16-bit`` is known."""
    if part.name == "OpaqueType" and part.args:
        size = part.args[0].name.rstrip("ul")
        return f"{8 * int(size)}-bit" if size.isdigit() else None
    return of_name(part.name)


def of_word(word: str) -> str | None:
    """Return the short name of a type in lower case, as names of kernels spell it."""
    return _BY_WORD.get(word)


def of_parameters(parameters: str) -> str | None:
    """Return the short name of the first of some parameters that is no condition."""
    names = (one.rpartition("::")[2].strip(" &*") for one in parameters.split(","))
    kinds = [kind for name in names if (kind := of_name(name))]
    return next((kind for kind in kinds if kind != "bool"), next(iter(kinds), None))


def of_pair(word: str) -> str | None:
    """Return the type of ``bf16``, of both operands ``bf16bf16``, or of two, ``bf16xmxfp4``."""
    if found := of_word(word):
        return found
    first, by, second = word.partition("x") if "x" in word[2:] else (word, "", "")
    if by and (a := of_word(first)) and (b := of_word(second)):
        return a if a == b else f"{a}·{b}"
    for at in range(2, len(word)):
        if (a := of_word(word[:at])) and (b := of_word(word[at:])):
            return a if a == b else f"{a}·{b}"
    return None
