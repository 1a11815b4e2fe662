"""Workers answer requests in shared memory, and end with their parent."""

from __future__ import annotations

import os
import signal

import pytest

from tb_privateuse1.readers import worker_pool
from tb_privateuse1.readers.worker_pool import Pool, WorkerDied

pytestmark = pytest.mark.skipif(not worker_pool.CAN_FORK, reason="only Linux forks")


def doubled(request: bytes, memory: memoryview) -> bytes:
    """Answer a request and write to its slot; end at an empty one."""
    if not request:
        os._exit(7)
    memory[:1] = request[:1]
    return 2 * request


def test_answers_come_with_the_slots_of_their_requests() -> None:
    with Pool(doubled, 2, 1 << 12) as pool:
        sent = {}
        while (slot := pool.take_slot()) is not None:
            sent[slot] = bytes([65 + slot])
            pool.submit(slot, sent[slot])
        assert len(sent) == 4  # two for each worker
        answers: dict[int, bytes] = {}
        while len(answers) < len(sent):
            answers |= pool.receive()
        assert answers == {slot: 2 * request for slot, request in sent.items()}
        assert {slot: bytes(pool.slots[slot][:1]) for slot in sent} == sent
        pool.release(next(iter(sent)))
        assert pool.take_slot() is not None


def test_a_worker_that_ends_is_an_error_and_leaves_nothing() -> None:
    with Pool(doubled, 1, 1 << 12) as pool:
        slot = pool.take_slot()
        assert slot is not None
        pool.submit(slot, b"")
        with pytest.raises(WorkerDied):
            pool.receive()


def test_a_worker_ends_with_its_parent() -> None:
    ready, ends = os.pipe()
    parent = os.fork()
    if parent == 0:
        # The workers close this pipe as they start, so that its end says nothing of them.
        pool = worker_pool.Pool(lambda request, _: request, 2, 1 << 12, files=[ends])
        os.write(ends, b"x")
        signal.pause()
        os._exit(len(pool.pids()))
    os.close(ends)
    assert os.read(ready, 1) == b"x"
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert os.read(ready, 1) == b""  # the last worker, which held the other end, has ended
    os.close(ready)
