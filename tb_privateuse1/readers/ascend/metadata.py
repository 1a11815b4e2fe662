"""Read what a recording of torch_npu says of itself: rank, groups, device, host and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tb_privateuse1.readers.ascend import schema
from tb_privateuse1.readers.sqlite.database import Database
from tb_privateuse1.trace.process_groups import RANK_LIMIT

_OPTIONS = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
GROUPS = "parallel_group_info"
"""The key of the groups of ranks, by the library's names."""


def read_metadata(database: Database) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the metadata of a trace, and the number of ranks by a group's name."""
    facts: dict[str, Any] = {}
    for name, value in database.texts(schema.FACTS, ["name", "value"]):
        facts.setdefault(name, decoded(value.encode()))
    metadata: dict[str, Any] = {}
    ranks = database.numbers(schema.RANKS, ["rankId"])["rankId"]
    rank = int(ranks[0]) if len(ranks) and 0 <= ranks[0] < RANK_LIMIT else None
    if group := distributed_info(rank, facts):
        metadata["distributedInfo"] = group
    devices = database.texts(schema.DEVICES, ["id", "name"])
    if devices:
        known = [(int(i), name) for i, name in devices if i.isdecimal() and len(i) < 10]
        metadata["deviceProperties"] = [{"id": i, "name": name} for i, name in known]
    hosts = [name for (name,) in database.texts(schema.HOST, ["hostName"]) if name]
    if hosts:
        metadata["host_name"] = hosts[0]
    return metadata, group_sizes(facts)


def group_sizes(facts: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of ranks by the library's name of each group."""
    return {group["pg_name"]: len(group["ranks"]) for group in _groups(facts)}


def _groups(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the groups in the form of torch's ``pg_config``."""
    listed = facts.get(GROUPS)
    known = listed.items() if isinstance(listed, dict) else ()
    return [
        {"pg_name": name, "pg_desc": g.get("group_name"), "ranks": g["global_ranks"]}
        for name, g in known
        if isinstance(g, dict) and isinstance(g.get("global_ranks"), list)
    ]


def distributed_info(rank: int | None, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rank, the number of ranks and the groups in the form of torch's metadata."""
    info: dict[str, Any] = {}
    if rank is not None:
        info["rank"] = rank
    if sizes := group_sizes(facts):
        info |= {"world_size": max(sizes.values()), "backend": "hccl", "pg_config": _groups(facts)}
    return info


def options(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rank and the options of the profiler in ``profiler_info_<rank>.json``."""
    config = info.get("config")
    common = config.get("common_config") if isinstance(config, dict) else None
    known = common if isinstance(common, dict) else {}
    found: dict[str, Any] = {k: known[k] for k in _OPTIONS if isinstance(known.get(k), bool)}
    rank = info.get("rank_id")
    if type(rank) is int and 0 <= rank < RANK_LIMIT:
        found["distributedInfo"] = {"rank": rank}
    version = info.get("torch_npu_version")
    if isinstance(version, str):
        found["torch_npu_version"] = version
    return found


def decoded(text: bytes) -> Any:
    """Return the value of a JSON text; None if it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
