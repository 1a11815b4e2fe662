"""Annotations of engines: requests, tokens and lengths by phase."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.serving.announced import Announced, announced, bare_phase


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("execute_context_0(0)_generation_16(16)", Announced("decode", 16, 16, None)),
        ("execute_context_2(100)_generation_3(9)", Announced("mixed", 5, 109, None)),
        ("execute_context_1(888_788544)_generation_0(0)", Announced("prefill", 1, 888, None)),
        (
            "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)",
            Announced("decode", 32, 32, 55086),
        ),
        (
            "execute_8192_context_9(sq8155sk8430sqsq1sqsk2)_generation_37(sq37sk34489sqsq1sqsk2)",
            Announced("mixed", 46, 8192, 42919),
        ),
        ("execute_context_0(0)_generation_0(0)", Announced("unknown", 0, 0, 0)),
        ("execute_new_2_cached_0", Announced("prefill", 2)),
        ("execute_new_1_cached_7", Announced("unknown", 8)),
        ("step[DECODE bs=32]", Announced("decode", 32, 32)),
        ("step[EXTEND bs=2 toks=107]", Announced("prefill", 2, 107)),
        ("step[MIXED bs=2]", Announced("mixed", 2)),
        ("step[TARGET_VERIFY bs=4]", Announced("decode", 4)),
        ("step[IDLE bs=0]", Announced("unknown", 0)),
        (
            "[Executor] _forward_step 12: 1 ctx reqs, 40 ctx tokens, 0 gen reqs",
            Announced("prefill", 1, 40),
        ),
        (
            "[Executor] _forward_step 12: 1 ctx reqs, 40 ctx tokens, 4 gen reqs",
            Announced("mixed", 5),
        ),
        ("executeStep: 0 ctx reqs, 8 gen reqs", Announced("decode", 8)),
    ],
)
def test_what_an_annotation_says(name: str, said: Announced) -> None:
    assert announced(name) == said


@pytest.mark.parametrize(
    "name", ["decode", "vae.decode", "capture_32_DECODE", "ProfilerStep#3", ""]
)
def test_other_names_say_nothing(name: str) -> None:
    assert announced(name) is None


@pytest.mark.parametrize("digits", ["9" * 30, "9" * 5000])
def test_a_count_of_more_digits_than_any_has_is_unknown(digits: str) -> None:
    for name in (
        f"step[DECODE bs={digits}]",
        f"execute_new_{digits}_cached_1",
        f"executeStep: {digits} ctx reqs, 8 gen reqs",
        f"execute_context_0(0)_generation_{digits}(1)",
    ):
        assert announced(name) is None
    assert announced(f"step[EXTEND bs=2 toks={digits}]") == Announced("prefill", 2)
    for sizes in (digits, f"{digits}_1", f"sq{digits}sk5"):
        found = announced(f"execute_context_0(0)_generation_1({sizes})")
        assert found is not None
        assert (found.requests, found.tokens) == (1, None)


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("decode_step_3", "decode"),
        ("Prefill", "prefill"),
        ("prefill decode", None),
        ("coded", None),
    ],
)
def test_the_bare_word_of_a_phase(name: str, phase: str | None) -> None:
    assert bare_phase(name) == phase
