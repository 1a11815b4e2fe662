"""Pickles: plain containers are read, and nothing else of any pickle is run."""

from __future__ import annotations

import contextlib
import copyreg
import gc
import os
import pickle
import pickletools
import random
import struct
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.readers import containers
from tb_privateuse1.readers.containers import NotPlain
from tests.support.snapshots import snapshot, training

PROTOCOLS = (2, 3, 4, 5)
WHOLE = b"\x80\x04%s."

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.floats(allow_nan=False)
    | st.text(st.characters(), max_size=400)
    | st.tuples(st.integers(0, 9), st.integers(0, 300)),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=30,
)


@pytest.mark.long
@given(plain, st.sampled_from(PROTOCOLS))
def test_plain_containers_are_read_as_python_reads_them(content: Any, protocol: int) -> None:
    assert containers.load(pickle.dumps(content, protocol)) == content


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tuples_of_two_texts_are_lists(protocol: int) -> None:
    names = ["long" * 100, "b"]
    content: dict[str, Any] = {
        "first": [("a", "b"), (names[0], "b"), ("c" * 300, names[0]), (names[1], names[0])],
        "again": [(names[0], names[1]), ("", ""), (names[1], "new"), "b", "a", (1, 2)],
    }
    lists = {
        key: [list(one) if isinstance(one, tuple) and one != (1, 2) else one for one in listed]
        for key, listed in content.items()
    }
    assert containers.load(pickle.dumps(content, protocol)) == lists
    many = [("a" * (i % 70), "b") for i in range(20_000)]
    assert containers.load(pickle.dumps(many, protocol)) == [list(one) for one in many]


def test_no_nested_tuple_is_hashed() -> None:
    """Each level doubles the time of a hash: texts from the memo may be anything."""
    doubled = b"h\x00h\x00\x86q\x00"
    deep = b"\x80\x02}(X\x01\x00\x00\x00aq\x00" + doubled * 60 + b"K\x01u."
    with pytest.raises(NotPlain, match="unhashable"):
        containers.load(deep)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_shared_objects_stay_shared(protocol: int) -> None:
    frame = {"line": 1}
    read = containers.load(pickle.dumps([[frame], [frame]] * 300, protocol))
    assert all(one[0] is read[0][0] for one in read)


class Runs:
    """An object whose pickle calls a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


class Sets:
    """An object whose pickle calls ``__setstate__``."""

    def __setstate__(self, state: object) -> None:
        raise AssertionError("it ran")

    def __getstate__(self) -> dict[str, int]:
        return {"a": 1}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_gadget_runs(protocol: int, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    gadgets: list[Any] = [
        Runs(os.system, f"touch {mark}"),
        Runs(eval, f"open({str(mark)!r}, 'w')"),
        Runs(exec, f"open({str(mark)!r}, 'w')"),
        Runs(bytearray, 1 << 40),
        Runs(list, "abc"),
        Sets(), eval, os.system, Runs, {1, 2}, frozenset((1,)), b"bytes", bytearray(b"x"), 1j,
    ]  # fmt: skip
    for gadget in gadgets:
        for content in (gadget, {"segments": [gadget]}, {"device_traces": [[{"a": gadget}]]}):
            try:
                data = pickle.dumps(content, protocol)
            except pickle.PicklingError:  # a module
                continue
            with pytest.raises(NotPlain):
                containers.load(data)
    assert not mark.exists()


def test_every_opcode_that_is_not_listed_is_refused() -> None:
    listed = {
        "MARK", "STOP", "NONE", "NEWTRUE", "NEWFALSE", "EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE",
        "APPEND", "APPENDS", "SETITEM", "SETITEMS", "BINGET", "LONG_BINGET", "BINPUT",
        "LONG_BINPUT", "MEMOIZE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT",
        "BINUNICODE", "SHORT_BINUNICODE", "FRAME",
    }  # fmt: skip
    for opcode in pickletools.opcodes:
        if opcode.name in listed:
            continue
        code = opcode.code.encode("latin-1")
        for before in (b"", b"]", b"K\x01", b"K\x01K\x02K\x03", b"("):
            with pytest.raises(NotPlain):
                containers.load(WHOLE % (before + code + b"\0" * 12))


def test_extension_codes_are_refused_even_if_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copyreg, "_extension_cache", {1: os.system})
    monkeypatch.setattr(copyreg, "_inverted_registry", {1: ("os", "system")})
    for code in (b"\x82\x01", b"\x83\x01\x00", b"\x84\x01\x00\x00\x00"):
        with pytest.raises(NotPlain, match="opcode"):
            containers.load(WHOLE % code)


def test_persistent_ids_are_refused() -> None:
    for code in (b"K\x01Q", b"P1\n"):
        with pytest.raises(NotPlain, match="opcode"):
            containers.load(WHOLE % code)


@pytest.mark.parametrize(
    "data",
    [
        b"", b".", b"\x80", b"\x80\x04", b"\x80\x04.", b"\x80\x01N.", b"\x80\x06N.", b"\x80\x04N",
        WHOLE % b"a", WHOLE % b"]s", WHOLE % b"u", WHOLE % b"(u", WHOLE % b"h\x05",
        WHOLE % b"}]Ns", WHOLE % b"}(]Nu", WHOLE % b"NNa", WHOLE % b"\x94",
        WHOLE % b"X\xff\xff\xff\x7f", WHOLE % b"X\x01\x00\x00\x00\xff", WHOLE % b"\x8c\x05ab",
        WHOLE % b"\x8a\x10" + b"\1" * 16, WHOLE % b"\x95\xff\xff\xff\xff\xff\xff\xff\x7fN",
        WHOLE % b"\x95\xff\xff\xff\xff\xff\xff\xff\xffN", WHOLE % b"r\xff\xff\xff\xff",
        WHOLE % b"Nr\xff\xff\xff\x7f", WHOLE % b"j\xff\xff\xff\xff", WHOLE % b"K\x01\x86",
        WHOLE % b")\x85", WHOLE % b"K\x01\x85\x85",
    ],
)  # fmt: skip
def test_damage_is_refused(data: bytes) -> None:
    with pytest.raises(NotPlain):
        containers.load(data)


def test_a_place_in_the_memo_beyond_the_file_is_refused() -> None:
    for place in (1 << 17, 1 << 24, 1 << 31):
        with pytest.raises(NotPlain, match="opcode"):
            containers.load(WHOLE % (b"Nr" + struct.pack("<I", place)))


def test_nested_tuples_and_many_containers_are_refused() -> None:
    with pytest.raises(NotPlain):
        containers.load(WHOLE % (b"})" + b"\x85" * 1_000_000 + b"Ns"))
    for one in (b"]", b"}", b"]a"):
        with pytest.raises(NotPlain, match="containers"):
            containers.load(WHOLE % (b"]" + one * 1_000_000))


def test_lists_nested_as_deep_as_allowed_are_read_and_released() -> None:
    depth = 9_000
    read = containers.load(WHOLE % (b"]" * depth + b"a" * (depth - 1)))
    for _ in range(depth - 1):
        (read,) = read
    assert read == []


@pytest.mark.long
def test_memory_is_bounded_by_the_size_of_the_file() -> None:
    for data in (
        WHOLE % (b"]" + b"N\x94" * 200_000 + b"0"),
        WHOLE % (b"]" * 9_000 + b"N" * 300_000),
    ):
        tracemalloc.start()
        try:
            containers.load(data)
        except NotPlain:
            pass
        finally:
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert most < 40 * len(data) + (4 << 20)


def test_numbers_of_equal_hash_do_not_take_long() -> None:
    keys = [m << 61 for m in range(-4, 8)] + [m << 40 for m in range(1, 30_000)]
    data = pickle.dumps(dict.fromkeys(keys), 4)
    started = time.process_time()
    assert len(containers.load(data)) == len(set(keys))
    assert time.process_time() - started < 10


def test_collection_of_garbage_goes_on_afterward() -> None:
    assert gc.isenabled()
    for data in (pickle.dumps([]), WHOLE % b"a"):
        with contextlib.suppress(NotPlain):
            containers.load(data)
        assert gc.isenabled()


def test_any_bytes_are_refused_or_plain() -> None:
    rng = random.Random(3)
    whole = pickle.dumps(snapshot(training()), 4)
    for _ in range(500):
        text = bytearray(whole)
        for _ in range(rng.randint(1, 5)):
            text[rng.randrange(len(text))] = rng.randrange(256)
        try:
            read = containers.load(bytes(text))
        except NotPlain:
            continue
        assert type(read) in (dict, list, tuple, str, int, float, bool, type(None))
