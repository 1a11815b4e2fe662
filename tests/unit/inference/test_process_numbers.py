"""Joined files: correlations and External ids count in one process only."""

from tb_privateuse1.trace.model import Trace
from tests.support.make import Event, kernel, launch, op, trace


def _rank(pid: int, name: str, device: int, late: float = 0) -> list[Event]:
    host = [op(name, late, 9 + late, id=1), launch(1 + late, 2 + late, 1)]
    work = kernel(f"{name}_kernel", 5 + late, 8 + late, 1, device=device)
    return [*({**event, "pid": pid} for event in host), work | {"pid": device}]


def _linked(t: Trace) -> dict[str, str]:
    return {
        t.text(t.kernels.name[row]): t.text(t.ops.name[op])
        for row, op in enumerate(t.kernels.op.tolist())
    }


def test_the_streams_of_joined_files_are_of_the_process_before_them() -> None:
    t = trace(*_rank(1000, "mm", 0), *_rank(1001, "relu", 1))
    assert _linked(t) == {"mm_kernel": "mm", "relu_kernel": "relu"}


def test_a_stream_is_of_the_process_whose_calls_explain_it() -> None:
    late, early = _rank(1000, "mm", 0, late=20), _rank(1001, "relu", 1)
    by_kind = [late[0], late[1], early[0], early[1], early[2], late[2]]
    assert _linked(trace(*by_kind)) == {"mm_kernel": "mm", "relu_kernel": "relu"}


def test_an_external_id_is_of_the_same_process() -> None:
    mine, other = _rank(1000, "mm", 0), _rank(1001, "relu", 1)
    outside = launch(10, 11, 2, **{"External id": 1}) | {"pid": 1001}
    work = kernel("late", 12, 15, 2, device=1) | {"pid": 1}
    t = trace(*mine, *other, outside, work)
    assert _linked(t)["late"] == "relu"


def test_calls_of_another_process_link_where_ids_are_not_shared() -> None:
    queue = launch(1, 2, 7) | {"pid": 2}
    t = trace(op("mm", 0, 9, id=1), launch(3, 4, 5), queue, kernel("a", 5, 6, 5),
              kernel("b", 7, 8, 7))  # fmt: skip
    assert (t.kernels.launch >= 0).all()
