"""Small programs and queries for five questions: the costly kernel, idle time, memory, layer, diff.

The queries read the exported columns alone; they know nothing of how the pages find an answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.support import make
from tests.support.program import Program
from tests.support.server import Server

STEPS = 3
BLOCKS = 4


@contextmanager
def _inside(program: Program, name: str) -> Iterator[None]:
    """A Python frame that begins before and ends after what is run inside."""
    with program.frame(name):
        program.now += 1
        yield
        program.now += 1


def denoiser(softmax_us: float = 60, preview: bool = True) -> Program:
    """A diffusion model's loop: its longest softmax is a preview's, and not where the time goes."""
    program = Program()
    for step in range(STEPS):
        with program.step(), _inside(program, "sample.py(12): main"):
            with _inside(program, "nn.Module: UNet_0"):
                for block in range(BLOCKS):
                    _block(program, block, softmax_us)
            if preview and step == 1:
                with _inside(program, "preview.py(8): save"):
                    program.op("aten::_softmax", kernel=500, device="softmax_fwd")
            program.now = max(program.now, program.device)
    return program


def _block(program: Program, block: int, softmax_us: float) -> None:
    with (
        _inside(program, f"nn.Module: AttentionBlock_{block}"),
        _inside(program, "unet.py(40): attend"),
    ):
        program.op("aten::_softmax", kernel=softmax_us, device="softmax_fwd")
        with (
            _inside(program, f"nn.Module: Linear_{block}"),
            _inside(program, "torch/nn/modules/linear.py(5): forward"),
        ):
            program.op("aten::addmm", kernel=25, device="gemm")
    with _inside(program, f"nn.Module: Conv2d_{block}"):
        program.op("aten::conv2d", kernel=40, device="conv_fwd")


def service() -> Program:
    """A serving loop whose scheduler keeps the device waiting before each forward pass."""
    program = Program()
    for _ in range(6):
        with program.range("iteration"):
            with program.frame("scheduler.py(20): plan"):
                program.now = max(program.now, program.device) + 400
            with program.frame("server.py(31): forward"):
                for _ in range(5):
                    program.op("aten::mm", kernel=12)
    return program


MIB = 1 << 20


def generator() -> Program:
    """Decoding with a cache that grows by 3 MiB a step; what the forward pass needs is released."""
    program = Program()
    allocated, address = 64 * MIB, 4096

    def allocate(line: str, size: int, released: bool) -> None:
        nonlocal allocated, address
        address += 4096
        with _inside(program, line):
            start = program.now
            program.op("aten::cat", kernel=5)
        for at, change in ((start + 2, size), (start + 6, -size))[: 1 + released]:
            allocated += change
            program.events.append(make.memory(at, change, allocated, Addr=address))

    for _ in range(STEPS):
        with program.step(), _inside(program, "generate.py(14): main"):
            with _inside(program, "nn.Module: Attention_0"):
                allocate("cache.py(21): append", 3 * MIB, released=False)
            allocate("model.py(9): forward", 8 * MIB, released=True)
            allocate("log.py(5): keep", MIB // 4, released=False)
            program.now = max(program.now, program.device)
    return program


def write(folder: Path, run: str, program: Program) -> None:
    """Write a program's events as the trace of a run."""
    (folder / run).mkdir(parents=True)
    path = folder / run / "host.1700000000000.pt.trace.json"
    path.write_text(json.dumps(make.document(*program.events)))


def rows(server: Server, run: str, query: str) -> list[list[Any]]:
    """Return the rows of a query over a run's columns."""
    answer = server.plugin(f"sql?run={quote(run)}&query={quote(query)}")
    assert answer.status == 200, answer.body
    found: list[list[Any]] = answer.json["rows"]
    return found


_IN_STEPS = """
    inside as (
        select k.*, o.name as operator, coalesce(o.frame, l.frame) as called
        from kernels k left join ops o on k.op = o.row left join launches l on k.launch = l.row
        where k.step is not null),
    whole as (select sum(duration_ns) as ns from steps)"""

COSTLY_KERNEL = f"""
with recursive {_IN_STEPS},
    best as (
        select name, sum(duration_ns) as ns from inside group by name order by ns desc limit 1),
    up as (
        select i.row as kernel, i.duration_ns as ns, i.called as frame, 0 as depth
        from inside i join best using (name)
        union all
        select up.kernel, up.ns, f.parent, depth + 1
        from up join frames f on f.row = up.frame where f.parent is not null),
    own as (
        select kernel, ns, arg_min(f.name, depth) as line
        from up join frames f on f.row = up.frame
        where regexp_matches(f.name, '\\.py\\(\\d+\\): ')
            and not regexp_matches(f.name, '^<|(^|/)(torch|contextlib)(/|\\.py)')
        group by kernel, ns),
    lines as (select line, sum(ns) as ns from own group by line order by ns desc limit 1),
    operators as (
        select operator, sum(duration_ns) as ns from inside join best using (name)
        group by operator order by ns desc limit 1)
select best.name, best.ns, best.ns / whole.ns, operator, line
from best, whole, operators, lines"""
"""The kernel with most time in steps: its ns, share of the steps, operator and line."""

SLOW_CLASS = f"""
with recursive {_IN_STEPS},
    up as (
        select row as kernel, duration_ns as ns, called as frame, 0 as depth from inside
        union all
        select up.kernel, up.ns, f.parent, depth + 1
        from up join frames f on f.row = up.frame where f.parent is not null),
    nearest as (
        select kernel, ns, arg_min(f.name, depth) as module
        from up join frames f on f.row = up.frame where f.name like 'nn.Module: %'
        group by kernel, ns),
    classes as (
        select regexp_extract(module, 'nn.Module: (.*?)(_\\d+)?$', 1) as class, sum(ns) as ns
        from nearest group by class order by ns desc limit 1)
select class, classes.ns, classes.ns / whole.ns from classes, whole"""
"""The class of the innermost module with most time in steps: its ns and share of the steps."""

COSTS = """
with own as (select row from steps where list_contains([{steps}], name)),
    steps_of as (select count(*) as n from own)
select 'step', avg(duration_ns) from steps where row in (from own)
union all
select o.name, sum(k.duration_ns) / max(n) from kernels k join ops o on k.op = o.row, steps_of
where k.step in (from own) group by o.name
union all
select 'data loader', coalesce(sum(duration_ns) / max(n), 0) from ops, steps_of
where step in (from own) and name like 'enumerate(DataLoader)%'"""
"""Per steady step: its length, the device time of each operator, and the time in the data loader.

``steps`` stands for their names."""

AT_PEAK = """
with events as (
        select *, lead(ts_ns) over (
                partition by device_type, device, address order by ts_ns, row) as released_ns,
            sum(bytes) over (order by ts_ns, row) as held
        from memory where device_type <> 0),
    peak as (select ts_ns as at_ns from events order by held desc, ts_ns limit 1)
select o.name, e.bytes from events e join ops o on e.op = o.row, peak
where e.bytes > 0 and e.ts_ns <= at_ns and (released_ns is null or released_ns > at_ns)
order by e.bytes desc limit 2"""
"""The two largest blocks of device memory that are alive at its peak, with their operators."""

REMAINING = """
with recursive blocks as (
        select *, lead(bytes) over (
            partition by device_type, device, address order by ts_ns, row) as later
        from memory where device_type <> 0),
    alive as (select b.row, b.bytes, o.frame from blocks b join ops o on b.op = o.row
        where b.bytes > 0 and later is null),
    up as (
        select row as block, bytes, frame, 0 as depth from alive
        union all
        select block, bytes, f.parent, depth + 1
        from up join frames f on f.row = up.frame where f.parent is not null),
    own as (
        select block, bytes, arg_min(f.name, depth) as line
        from up join frames f on f.row = up.frame
        where regexp_matches(f.name, '\\.py\\(\\d+\\): ')
            and not regexp_matches(f.name, '^<|(^|/)(torch|contextlib)(/|\\.py)')
        group by block, bytes)
select line, sum(bytes) as bytes, count(*) from own group by line order by bytes desc limit 1"""
"""The line with most of the device memory that was allocated and not released again."""

_GAPS = """
    ordered as (select start_ns, end_ns, max(end_ns) over (
        order by start_ns rows between unbounded preceding and 1 preceding) as before from kernels),
    gaps as (select before as a, start_ns as b from ordered where start_ns > before)"""

BUSY = """
with ordered as (select start_ns, end_ns, max(end_ns) over (
        order by start_ns rows between unbounded preceding and 1 preceding) as before from kernels)
select sum(greatest(0, end_ns - greatest(start_ns, coalesce(before, start_ns)))) from ordered"""
"""The length of the union of all device activities."""


def _idle_in(table: str) -> str:
    """Return a query for the innermost range of a table in which the host was for most idle time.

    Ranges are inside of others by the column ``parent``; annotations do not count.
    """
    of = "" if table == "frames" else "and t.kind = 'operator'"
    return f"""
with {_GAPS},
    during as (
        select t.row, t.parent, t.name,
            sum(greatest(0, least(t.end_ns, b) - greatest(t.start_ns, a))) as ns
        from {table} t, gaps where t.start_ns < b and t.end_ns > a {of}
        group by t.row, t.parent, t.name),
    inner_ns as (select parent as row, sum(ns) as ns from during group by parent)
select name, sum(d.ns - coalesce(i.ns, 0)) as ns
from during d left join inner_ns i on d.row = i.row group by name order by ns desc limit 1"""


IDLE_FRAME = _idle_in("frames")
IDLE_OPERATOR = _idle_in("ops")

LONGEST_GAP = f"with {_GAPS} select max(b - a) from gaps"
"""The longest time without any device activity between two."""
