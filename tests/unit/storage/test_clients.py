"""Turns of clients: none is passed again and again, whatever names others make up."""

from __future__ import annotations

from tb_privateuse1.storage import clients
from tb_privateuse1.storage.clients import Clients, joined


def test_clients_with_new_names_do_not_starve_another() -> None:
    turns = Clients()
    assert turns.serve([("one", 1)]) == ("one", 1)
    served = [turns.serve([("one", 2), (f"new{i}", 3 + i)])[0] for i in range(3)]
    assert served.count("one") == 1


def test_a_new_client_is_ahead_of_one_that_was_just_served() -> None:
    turns = Clients()
    turns.serve([("one", 1)])
    assert turns.serve([("one", 3), ("two", 2)]) == ("two", 1)
    assert turns.serve([("one", 3)]) == ("one", 2)


def test_more_clients_than_are_remembered_are_all_served() -> None:
    turns, count = Clients(), clients._REMEMBERED + 100
    waiting = {str(i): i for i in range(count)}
    for _ in range(count):
        client, _ = turns.serve(waiting.items())
        del waiting[client]
    assert waiting == {}
    turns.serve([("last", 0)])
    assert len(turns._served) <= clients._REMEMBERED + 1


def test_those_who_ask_for_one_thing_are_no_unbounded_number() -> None:
    found = frozenset[str]()
    for i in range(10_000):
        found = joined(found, {str(i)})
    assert "0" in found
    assert len(found) <= clients._TOGETHER
