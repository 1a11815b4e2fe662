"""Iterations of generation: by annotation, by shape, and by what repeats."""

from __future__ import annotations

from tb_privateuse1.analysis.serving.iterations import serving_iterations
from tests.support.make import Event, annotation, kernel, launch, op, step, trace
from tests.support.serving import forward, loop, shaped


def test_a_loop_with_a_cache_is_a_prefill_and_decodes() -> None:
    found = serving_iterations(trace(*loop(4, prompt=7, new=3)))
    assert [(one.kind, one.found) for one in found] == [
        ("prefill", "shape"), ("decode", "shape"), ("decode", "shape"),
    ]  # fmt: skip
    assert [one.requests for one in found] == [4, 4, 4]
    assert [one.tokens for one in found] == [28, 4, 4]
    assert [one.context for one in found] == [28, 32, 36]
    assert [one.start_ns for one in found] == [0, 100_000, 200_000]
    assert [one.end_ns for one in found] == [100_000, 200_000, 275_000]
    assert [one.is_last for one in found] == [False, False, True]


def test_a_loop_without_a_cache_repeats_its_tokens() -> None:
    found = serving_iterations(trace(*loop(1, prompt=5, new=4, cache=False)))
    assert [one.kind for one in found] == ["prefill"] * 4
    assert [one.repeats for one in found] == [False, True, True, True]
    assert [one.tokens for one in found] == [5, 6, 7, 8]
    assert [one.context for one in found] == [5, 6, 7, 8]


def test_prompts_alone_are_no_generation() -> None:
    events = [*forward(0, [2, 30], keys=30), *forward(100, [2, 31], keys=31, number=1)]
    assert serving_iterations(trace(*events)) == ()


def test_training_is_no_generation() -> None:
    events = []
    for i in range(3):
        at = 100.0 * i
        own = {"Sequence number": i + 1, "Fwd thread id": 0}
        back = {"Sequence number": i + 1, "Fwd thread id": 1, "thread": 2}
        events += [
            shaped("aten::embedding", at, at + 5, [50, 8], [4, 1], **own),
            shaped("aten::linear", at + 20, at + 30, [4, 8], [50, 8]),
            op("EmbeddingBackward0", at + 40, at + 50, **back),
        ]
    assert serving_iterations(trace(*events)) == ()


def test_a_table_without_scores_for_each_of_its_rows_is_no_vocabulary() -> None:
    events = [
        one
        for i in range(3)
        for one in (
            shaped("aten::embedding", 100 * i, 100 * i + 5, [50, 8], [4, 1]),
            shaped("aten::linear", 100 * i + 20, 100 * i + 30, [4, 8], [2, 8]),
        )
    ]
    assert serving_iterations(trace(*events)) == ()


def test_a_cache_of_fixed_size_has_no_context() -> None:
    events = [*forward(0, [1, 6], keys=64)]
    for i in range(1, 4):
        events += forward(100 * i, [1, 1], keys=64, number=i)
    found = serving_iterations(trace(*events))
    assert [one.kind for one in found] == ["prefill", "decode", "decode", "decode"]
    assert [one.context for one in found] == [None] * 4


def test_several_tokens_beside_a_growing_cache_are_unknown() -> None:
    events = [
        *forward(0, [1, 8], keys=8),
        *forward(100, [1, 4], keys=12, number=1),
        *forward(200, [1, 1], keys=13, number=2),
    ]
    found = serving_iterations(trace(*events))
    assert [one.kind for one in found] == ["prefill", "unknown", "decode"]
    assert found[1].reason is not None
    assert found[1].reason.startswith("Several tokens of a sequence beside a cache")


def test_one_row_of_tokens_is_a_prompt_if_one_is_scored() -> None:
    events = [
        *forward(0, [9], scored=1),
        *forward(100, [12], scored=3, number=1),
        *forward(200, [1], scored=1, number=2),
    ]
    found = serving_iterations(trace(*events))
    assert [one.kind for one in found] == ["prefill", "unknown", "decode"]
    assert [one.requests for one in found] == [1, 3, 1]


def test_a_pause_between_generations_belongs_to_none() -> None:
    later = loop(1, prompt=5, new=3, at=1000)
    events = [*loop(1, prompt=5, new=3), op("aten::rand", 900, 950), *later]
    found = serving_iterations(trace(*events))
    assert [one.kind for one in found] == ["prefill", "decode", "decode"] * 2
    assert [one.end_ns for one in found][2:4] == [275_000, 1_100_000]
    assert [one.is_last for one in found] == [False, False, True] * 2


def test_words_of_the_program_name_what_shapes_leave_open() -> None:
    events = [
        annotation("prefill", 0, 195),
        *forward(0.5, [12], scored=3),
        *forward(200, [1], scored=1, number=2),
    ]
    found = serving_iterations(trace(*events))
    assert [(one.kind, one.found) for one in found] == [
        ("prefill", "annotation"), ("decode", "shape"),
    ]  # fmt: skip


def test_annotations_come_before_shapes_which_add_to_them() -> None:
    events = [
        annotation("executeStep: 1 ctx reqs, 0 gen reqs", 0, 90),
        *forward(0.5, [1, 8], keys=8),
        annotation("executeStep: 0 ctx reqs, 1 gen reqs", 100, 190),
        *forward(100.5, [1, 1], keys=9, number=1),
    ]
    found = serving_iterations(trace(*events))
    assert [(one.kind, one.found, one.tokens, one.context) for one in found] == [
        ("prefill", "annotation", 8, 8), ("decode", "annotation", 1, 9),
    ]  # fmt: skip
    assert [one.end_ns for one in found] == [100_000, 190_000]


def test_the_outer_one_of_two_annotations_is_the_iteration() -> None:
    events = [
        one
        for at in (0, 100)
        for one in (
            annotation("execute_new_0_cached_4", at, at + 90),
            annotation("step[DECODE bs=4]", at + 5, at + 80),
        )
    ]
    found = serving_iterations(trace(*events))
    assert [(one.kind, one.requests, one.tokens) for one in found] == [("decode", 4, 4)] * 2
    assert [one.start_ns for one in found] == [0, 100_000]


def _replays(choice: str, kernel_name: str) -> list[Event]:
    """Rounds of a graph's replay and the operator that chooses a token."""
    events = []
    for i in range(12):
        at, one = 100.0 * i, 10 * i + 1
        events += [
            launch(at, at + 5, one),
            kernel("gemm", at + 6, at + 10, one),
            launch(at + 11, at + 12, one + 1),
            kernel(kernel_name, at + 13, at + 20, one + 1),
            op(choice, at + 30, at + 40, one),
            launch(at + 32, at + 33, one + 2, **{"External id": one}),
            kernel("reduce", at + 41, at + 45, one + 2),
        ]
    return events


def test_replays_that_repeat_have_no_phase() -> None:
    found = serving_iterations(trace(*_replays("aten::argmax", "flash_fwd_kernel")))
    assert {(one.kind, one.found, one.requests) for one in found} == {
        ("unknown", "repetition", None)
    }
    assert len(found) == 12
    assert found[1].start_ns - found[0].start_ns == 100_000
    assert found[0].reason == "No annotation and no shapes tell the phase."


def test_what_repeats_without_attention_or_choice_is_no_generation() -> None:
    assert serving_iterations(trace(*_replays("aten::argmax", "im2col"))) == ()
    assert serving_iterations(trace(*_replays("aten::relu", "flash_fwd_kernel"))) == ()


def test_steps_do_not_cut_iterations() -> None:
    events = [step(1, -1, 149), step(2, 149, 300), *loop(1, prompt=5, new=3)]
    found = serving_iterations(trace(*events))
    assert [one.kind for one in found] == ["prefill", "decode", "decode"]
