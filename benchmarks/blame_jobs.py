"""Generated jobs of many ranks: real noise, planted causes, and the parts that a view reads.

A job simulates when each rank arrives at each collective: data parallel with exposed or
overlapped all-reduces, tensor times data parallel, pipeline times data parallel, or experts times
data parallel, eight ranks to a host. The work between collectives is multiplied by the noise of a
recording (``blame_noise``) and by a lasting factor of each device, normal with 0.5 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from benchmarks.blame_noise import PIECES, Noise
from tb_privateuse1.analysis.ranks.collectives import Calls, Label, RankPart, Shape
from tb_privateuse1.analysis.ranks.group_parts import GroupParts
from tb_privateuse1.analysis.ranks.host_causes import HostParts
from tb_privateuse1.analysis.ranks.step_parts import StepParts
from tb_privateuse1.analysis.steps.bounds import RANK
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import F64

Layout = Literal["dp", "overlapped", "tp", "pp", "ep"]
Plant = Literal[
    "nothing", "host", "device", "throttled", "node", "loader", "link", "missing", "clock"
]
PLANTS: tuple[Plant, ...] = (
    "nothing", "host", "device", "throttled", "node", "loader", "link", "missing", "clock",
)  # fmt: skip
ON_HOST = 8
KERNELS = {"gemm": 0.5, "attention": 0.25, "norm": 0.1, "elementwise": 0.1, "optimizer": 0.05}
_BUSY = 0.8
"""Share of the own work that the device computes; it idles for the rest."""
_STEP_NS = 100e6
_DEVICES = 0.005
_LAYERS = (PIECES - 4) // 2
"""Of experts: each has a dispatch and, after the experts' work, a combine."""
_EXPERTS = slice(1, 2 * _LAYERS, 2)
"""The pieces of their work."""
_TOKENS_BYTES = 16 << 20
"""What a rank receives in a dispatch if routing is even."""


class Round(Struct, frozen=True):
    """One call of every rank: the piece of work before it, and whom each rank meets."""

    kind: str
    purpose: str
    group: NDArray[np.int64]
    """By rank."""
    bytes: NDArray[np.int64]
    """By rank."""
    transfer_ns: float


class Planted(Struct, frozen=True):
    """What was planted, and where; ``factor`` is its share of the step's own work."""

    plant: Plant
    ranks: tuple[int, ...] = ()
    group: str = ""
    factor: float = 0.0


class Simulated(Struct, frozen=True):
    """Times of a job by rank, step and round, in ns."""

    layout: Layout
    rounds: tuple[Round, ...]
    computation: F64
    idle: F64
    loading: F64
    """Before the first round; ranks by steps."""
    start: F64
    end: F64
    begin: F64
    """Of each step; ranks by steps, and the last one's end."""
    plants: tuple[Planted, ...]
    seed: int
    loads: F64 | None = None
    """Of experts: what a rank receives, by step and layer; 1 is the mean of its group."""

    def has(self, plant: Plant, rank: int) -> bool:
        """Return whether a cause was planted on a rank."""
        return any(one.plant == plant and rank in one.ranks for one in self.plants)

    @property
    def world(self) -> int:
        """Return the number of ranks."""
        return len(self.begin)

    @property
    def step_ns(self) -> float:
        """Return the mean step."""
        return float(self.begin[:, -1].max()) / (self.begin.shape[1] - 1)


def simulate(
    seed: int, noise: Noise, plant: Plant, stage_factor: float = 1.0, uneven: float = 0.0
) -> Simulated:
    """Return a job with a random layout, size and place of its cause.

    The cause is as large as it takes to make the mean step 5 to 30 % longer than that of the same
    job without it. A cause that noise hides from the job costs nothing, and is none. The second
    stage of a pipeline works ``stage_factor`` times as long as the first. With ``uneven``, the
    logarithm's standard deviation of lasting loads, the job is one of experts.
    """
    random = np.random.default_rng(seed)
    layouts: tuple[Layout, ...] = ("dp", "overlapped", "tp", "pp")
    layout = "tp" if plant == "link" else layouts[random.integers(4)]
    layout = "ep" if uneven else layout
    least = 16 if layout in ("tp", "pp", "ep") or plant == "node" else 4
    world = int(random.choice([size for size in (4, 8, 16, 32, 64, 128, 256) if size >= least]))
    steps = int(random.integers(6, 13))
    rounds = _rounds(layout, world)
    work, transfers = _times(random, noise, rounds, world, steps)
    if layout == "pp":
        work[world // 2 :] *= stage_factor
    loads = _loads(random, uneven, world, steps) if uneven else None
    planted = _place(plant, random, rounds, world)
    wanted = float(random.uniform(0.05, 0.3))

    def job(size: float) -> Simulated:
        plants = (replace(planted, factor=size),)
        return _simulated(layout, rounds, work, transfers, plants, seed, loads)

    if plant in ("nothing", "missing", "clock"):
        return job(0.0)
    alone, size = job(0.0).step_ns, 0.1
    while job(size).step_ns < alone * (1 + wanted):
        size *= 1.25
    return job(size)


def simulate_several(seed: int, noise: Noise, world: int, steps: int) -> Simulated:
    """Return a job of tensor times data parallel ranks, five hosts or more, with five causes.

    A node computes 24 % longer, a rank waits for its host for 35 % of its work, a group's transfers
    take twice as long, a rank misses calls, and a clock is off.
    """
    random = np.random.default_rng(seed)
    rounds = _rounds("tp", world)
    work, transfers = _times(random, noise, rounds, world, steps)
    node, late, absent, ahead = (int(n) for n in random.permutation(world // ON_HOST)[:4] * ON_HOST)
    link = int(random.integers(3, ON_HOST))  # no call of the absent rank's group is matched
    others = np.flatnonzero(rounds[-1].group == link)
    plants = (
        Planted("node", tuple(range(node, node + ON_HOST)), factor=0.24),
        Planted("host", (late + 1,), factor=0.35),
        Planted("link", tuple(others.tolist()), _name(rounds[-1], link), factor=1.0),
        Planted("missing", (absent + 2,)),
        Planted("clock", (ahead + 3,)),
    )
    return _simulated("tp", rounds, work, transfers, plants, seed)


def _times(
    random: np.random.Generator, noise: Noise, rounds: Sequence[Round], world: int, steps: int
) -> tuple[F64, F64]:
    """Return the work by rank, step and round, and the transfers by step, round and group."""
    factor = noise.draw(random, world, steps)
    factor *= np.exp(random.normal(0, _DEVICES, size=(world, 1, 1)))
    work = _STEP_NS * random.dirichlet(np.full(PIECES, 8.0)) * factor
    jitter = np.exp(random.normal(0, 0.02, size=(steps, len(rounds), world)))
    return work, np.array([one.transfer_ns for one in rounds])[:, None] * jitter


def _loads(random: np.random.Generator, uneven: float, world: int, steps: int) -> F64:
    """Return loads that last over the steps, and half of that which does not."""
    lasting = random.normal(0, uneven, size=(world, 1, _LAYERS))
    passing = random.normal(0, uneven / 2, size=(world, steps, _LAYERS))
    loads = np.exp(lasting + passing).reshape(-1, ON_HOST, steps, _LAYERS)
    even: F64 = loads / loads.mean(axis=1, keepdims=True)
    return even.reshape(world, steps, _LAYERS)


def _simulated(
    layout: Layout,
    rounds: tuple[Round, ...],
    work: F64,
    transfers: F64,
    plants: tuple[Planted, ...],
    seed: int,
    loads: F64 | None = None,
) -> Simulated:
    computation, idle = work * _BUSY, work * (1 - _BUSY)
    if loads is not None:
        computation[:, :, _EXPERTS] *= loads
    loading = np.full(work.shape[:2], 0.005 * _STEP_NS)
    for planted in plants:
        rows = list(planted.ranks)
        if planted.plant in ("device", "throttled", "node"):
            computation[rows] *= 1 + planted.factor / _BUSY
        if planted.plant == "host":
            idle[rows] += planted.factor * work[rows]
        if planted.plant == "loader":
            loading[rows] += planted.factor * _STEP_NS
        if planted.plant == "link":
            slow = np.array([[_name(one, g) == planted.group for g in one.group] for one in rounds])
            transfers = transfers * np.where(slow, 1 + planted.factor, 1)
    start, end, begin = _run(layout, rounds, computation + idle, loading, transfers)
    return Simulated(
        layout, rounds, computation, idle, loading, start, end, begin, plants, seed, loads
    )


def _rounds(layout: Layout, world: int) -> tuple[Round, ...]:
    rank = np.arange(world)
    same, large = np.zeros(world, np.int64), np.full(world, 32 << 20)
    if layout in ("dp", "overlapped"):
        one = Round("all_reduce", "dp", same, large, 0.01 * _STEP_NS)
        return (one,) * PIECES
    if layout == "tp":
        inner = Round("all_reduce", "tp", rank // ON_HOST, large // 4, 0.005 * _STEP_NS)
        outer = Round("all_reduce", "dp", rank % ON_HOST, large, 0.03 * _STEP_NS)
        return (inner,) * (PIECES - 4) + (outer,) * 4
    if layout == "ep":
        tokens = Round("all_to_all", "ep", rank // ON_HOST, large // 2, 0.005 * _STEP_NS)
        outer = Round("all_reduce", "dp", rank % ON_HOST, large, 0.03 * _STEP_NS)
        return (tokens,) * (2 * _LAYERS) + (outer,) * 4
    stage = rank * 2 // world  # two stages, each with half of the hosts
    pair = rank % (world // 2)
    message = Round("send", "pp", pair, large // 8, 0.002 * _STEP_NS)
    replicas = Round("all_reduce", "dp", stage, large + (stage << 20), 0.03 * _STEP_NS)
    norm = Round("all_reduce", "world", same, same + 8, 0.001 * _STEP_NS)
    return (message,) * (PIECES - 5) + (replicas,) * 4 + (norm,)


def _name(one: Round, group: int) -> str:
    return f"{one.purpose}{group}"


def _place(
    plant: Plant, random: np.random.Generator, rounds: Sequence[Round], world: int
) -> Planted:
    rank = int(random.integers(world))
    if plant == "node":
        host = int(random.integers(world // ON_HOST))
        return Planted(plant, tuple(range(host * ON_HOST, (host + 1) * ON_HOST)))
    if plant == "link":
        last = rounds[-1]
        group = int(random.choice(np.unique(last.group)))
        members = tuple(np.flatnonzero(last.group == group).tolist())
        return Planted(plant, members, _name(last, group))
    return Planted(plant, () if plant == "nothing" else (rank,))


def _run(
    layout: Layout, rounds: Sequence[Round], work: F64, loading: F64, transfers: F64
) -> tuple[F64, F64, F64]:
    """Return when each call starts and ends, and when each step begins."""
    world, steps, _ = work.shape
    now, free = np.zeros(world), np.zeros(world)
    start, end = np.zeros_like(work), np.zeros_like(work)
    begin = np.zeros((world, steps + 1))
    for step in range(steps):
        begin[:, step] = now
        now = now + loading[:, step]
        for k, one in enumerate(rounds):
            now = now + work[:, step, k]
            start[:, step, k] = np.maximum(now, free)
            latest = np.zeros(int(one.group.max()) + 1)
            np.maximum.at(latest, one.group, start[:, step, k])
            first = np.unique(one.group, return_index=True)[1]
            took = transfers[step, k][first][one.group]
            end[:, step, k] = free = latest[one.group] + took
            if layout != "overlapped":
                now = free
        now = np.maximum(now, free)
    begin[:, steps] = now
    return start, end, begin


def parts(job: Simulated) -> list[RankPart]:
    """Return the reduced traces of all ranks, as of measured device times."""
    shape_of = [_shapes(job, rank) for rank in range(job.world)]
    return [_part(job, rank, *shape_of[rank]) for rank in range(job.world)]


def _shapes(job: Simulated, rank: int) -> tuple[tuple[Shape, ...], list[int]]:
    shapes = [
        Shape(
            Label(one.kind, _name(one, int(one.group[rank])), one.purpose, False),
            int((one.group == one.group[rank]).sum()),
            int(one.bytes[rank]),
        )
        for one in job.rounds
    ]
    kinds = list(dict.fromkeys(shapes))
    return tuple(kinds), [kinds.index(one) for one in shapes]


def _part(job: Simulated, rank: int, shapes: tuple[Shape, ...], kind: list[int]) -> RankPart:
    begin, start, end = (np.rint(x[rank]).astype(np.int64) for x in (job.begin, job.start, job.end))
    steps = len(begin) - 1
    here = np.ones((steps, len(kind)), np.bool_)
    if job.has("missing", rank):
        here[:, -1] = False
    computation = np.rint(job.computation[rank].sum(axis=1)).astype(np.int64)
    duration = np.diff(begin)
    exposed = np.rint(duration - computation - job.idle[rank].sum(axis=1) - job.loading[rank])
    exposed_ns = np.maximum(exposed.astype(np.int64), 0)
    talk = (end - start).sum(axis=1)
    idle = duration - computation - exposed_ns
    loading = np.minimum(np.rint(job.loading[rank]).astype(np.int64), idle)
    zeros = np.zeros(steps, np.int64)
    far = 3_700_000_000 if job.has("clock", rank) else 0
    usual = job.computation[rank].sum(axis=1).mean()
    extra = sum(
        usual - usual / (1 + one.factor / _BUSY)
        for one in job.plants if one.plant == "device" and rank in one.ranks
    )  # fmt: skip
    kernels = {name: round(part * (usual - extra)) for name, part in KERNELS.items()}
    kernels["attention"] += round(extra)
    return RankPart(
        timeline="measured",
        base_ns=1_700_000_000_000_000_000 + far,
        files=(f"rank{rank}.json",),
        hostname=f"node{rank // ON_HOST}",
        world_size=job.world,
        on_host=False,
        steps=StepParts(
            names=tuple(f"ProfilerStep#{i}" for i in range(steps)),
            duration_ns=duration,
            computation_ns=computation,
            communication_ns=talk,
            overlap_ns=np.maximum(talk - exposed_ns, 0),
            exposed_ns=exposed_ns,
            copy_ns=zeros,
            idle_ns=idle,
            incomplete=np.zeros(steps, np.bool_),
            bounds=dict.fromkeys(RANK, zeros),
        ),
        shapes=shapes,
        calls=Calls(
            step=np.repeat(np.arange(steps), here.sum(axis=1)).astype(np.int32),
            shape=np.broadcast_to(np.array(kind, np.int32), here.shape)[here],
            duration_ns=(end - start)[here],
            end_ns=end[here],
        ),
        by_group=_exchanges(job, rank, int(here[0].sum())),
        host=HostParts(
            idle={"input": loading, "dispatch": idle - loading},
            held_ns=zeros,
            kernels=kernels,
            kernel_calls=dict.fromkeys(kernels, 16.0),
        ),
    )


def _exchanges(job: Simulated, rank: int, calls: int) -> GroupParts:
    """Return the exchanges of experts, of ``calls`` calls in each step: dispatches, combines."""
    if job.loads is None:
        return GroupParts()
    steps = job.loads.shape[1]
    received = np.rint(job.loads[rank] * _TOKENS_BYTES).astype(np.int64)
    sent = np.full_like(received, _TOKENS_BYTES)
    work = np.rint(job.computation[rank][:, _EXPERTS]).astype(np.int64)
    nothing = np.full_like(work, MISSING)
    at = calls * np.arange(steps)[:, None] + np.arange(2 * _LAYERS)

    def in_turn(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.stack([first, second], axis=-1).ravel()

    return GroupParts(
        exchange_call=at.ravel().astype(np.int32),
        sent_bytes=in_turn(sent, received),
        received_bytes=in_turn(received, sent),
        exchange_work_ns=in_turn(work, nothing),
    )
