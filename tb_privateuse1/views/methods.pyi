"""Types of the views' methods. Generated: ``make api`` writes it."""

from typing import Literal

from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Selection
from tb_privateuse1.views.advice import AdviceTable
from tb_privateuse1.views.compilation import Compilation
from tb_privateuse1.views.counters import Counters
from tb_privateuse1.views.diff import Diff
from tb_privateuse1.views.distributed import Distributed
from tb_privateuse1.views.flame import Flame
from tb_privateuse1.views.history import History
from tb_privateuse1.views.kernels import KernelTable
from tb_privateuse1.views.memory import MemoryUse
from tb_privateuse1.views.method import Method
from tb_privateuse1.views.modules import Modules
from tb_privateuse1.views.operators import Operators
from tb_privateuse1.views.overview import Overview
from tb_privateuse1.views.quality import Quality
from tb_privateuse1.views.roofline import Roofline
from tb_privateuse1.views.runtime import Runtime
from tb_privateuse1.views.serving import Serving
from tb_privateuse1.views.timeline import Timeline
from tb_privateuse1.views.whatif import WhatIf

class ViewMethods:
    _reader: Reader

    def overview(
        self,
        *,
        step: int | None = None,
        window: Literal['steady', 'all', 'prefill', 'decode', 'mixed'] = 'steady',
        brief: bool = False,
        around: int | None = None,
        offset: int = 0,
        limit: int = 500,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> Overview:
        """The limit, the steps and the totals of a window: the steady part, a step, or everything."""

    def advice(
        self,
        *,
        step: int | None = None,
        window: Literal['steady', 'all', 'prefill', 'decode', 'mixed'] = 'steady',
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> AdviceTable:
        """Findings with evidence, saving and remedy."""

    def whatif(
        self,
        *,
        changes: str | None = None,
        step: int | None = None,
        window: Literal['steady', 'all', 'prefill', 'decode', 'mixed'] = 'steady',
        ranking: bool = True,
        limit: int = 30,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> WhatIf:
        """Predict step times with ``changes`` (one a line, as ``aten::mm=0.5``), by replay."""

    def timeline(
        self,
        *,
        step: int | None = None,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        width: int = 1200,
        tracks: str | None = None,
        folded: str | None = None,
        most: int = 5000,
        modules: bool = False,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> Timeline:
        """The window [start_ns, stop_ns) in ``width`` parts; by default a step or the whole recording."""

    def operators(
        self,
        *,
        group: Literal['name', 'shapes', 'stack', 'module', 'category'] = 'name',
        step: int | None = None,
        window: Literal['steady', 'all', 'prefill', 'decode', 'mixed'] = 'steady',
        find: str | None = None,
        sort: str | None = None,
        limit: int = 20000,
        offset: int = 0,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> Operators:
        """A row per operator, or per operator and input shapes, call stack or module, or per category."""

    def kernels(
        self,
        *,
        group: Literal['operator', 'name', 'launch'] = 'operator',
        step: int | None = None,
        window: Literal['steady', 'all', 'prefill', 'decode', 'mixed'] = 'steady',
        short_ns: int = 10000,
        find: str | None = None,
        sort: str | None = None,
        limit: int = 20000,
        offset: int = 0,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> KernelTable:
        """A row per name and launching operator, per name only, or per launch properties as well."""

    def runtime(
        self,
        *,
        step: int | None = None,
        window: Literal['steady', 'all', 'prefill', 'decode', 'mixed'] = 'steady',
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> Runtime:
        """A row per name of a runtime or driver call, by the calls' time on the host."""

    def roofline(
        self,
        *,
        by: Literal['operator', 'shape', 'module', 'kernel'] = 'operator',
        dtype: Literal['all', 'fp64', 'fp32', 'bf16', 'fp16', 'fp8', 'fp4', 'int8'] = 'all',
        step: int | None = None,
        window: Literal['steady', 'all', 'prefill', 'decode', 'mixed'] = 'steady',
        limit: int = 1000,
        offset: int = 0,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> Roofline:
        """A row per operator, shape, module or kernel: work, rates and distance from the roofs."""

    def memory(
        self,
        *,
        device: str | None = None,
        step: int | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
        points: int = 3000,
        limit: int = 1000,
        offset: int = 0,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> MemoryUse:
        """Memory of one device; ``step``, ``start_ns`` and ``end_ns`` select a part of the recording."""

    def modules(
        self,
        *,
        group: Literal['instance', 'class'] = 'instance',
        source: Literal['best', 'modules', 'annotations'] = 'best',
        step: int | None = None,
        window: Literal['steady', 'all', 'prefill', 'decode', 'mixed'] = 'steady',
        sort: str | None = None,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> Modules:
        """The module tree with calls, host and device time of the forward and backward pass."""

    def counters(
        self,
        *,
        step: int | None = None,
        counter: int | None = None,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> Counters:
        """The counters that the trace records, and one of them by kernel and by step."""

    def flame(
        self,
        *,
        by: Literal['best', 'device', 'host'] = 'best',
        levels: Literal['all', 'operators', 'modules'] = 'all',
        group: Literal['instance', 'class'] = 'instance',
        direction: Literal['top_down', 'bottom_up'] = 'top_down',
        frame: str | None = None,
        ignore_libraries: bool = False,
        ignore: str | None = None,
        root: str | None = None,
        limit: int = 2000,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        step: int | None = None,
        window: Literal['steady', 'all', 'prefill', 'decode', 'mixed'] = 'steady',
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> Flame:
        """The call tree by device time (where there is any) or by host time."""

    def distributed(
        self,
        *,
        step: int | None = None,
        window: Literal['steady', 'all'] = 'steady',
        measure: Literal['step', 'computation', 'communication', 'exposed', 'idle', 'waiting'] = 'step',
        limit: int = 2000,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> Distributed:
        """Every rank's computation and communication, the collectives, and who holds up the others."""

    def diff(
        self,
        *,
        by: Literal['operators', 'shapes', 'kernels', 'modules', 'annotations'] = 'operators',
        time: Literal['best', 'device', 'host'] = 'best',
        step: int | None = None,
        base_step: int | None = None,
        window: Literal['steady', 'all', 'prefill', 'decode', 'mixed'] = 'steady',
        alive_at: Literal['none', 'peak', 'end'] = 'none',
        limit: int = 20000,
        offset: int = 0,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
        base: Selection | None = None,
    ) -> Diff:
        """Compare two traces per step: time that ``trace`` gains or loses against ``base``."""

    def history(
        self,
        *,
        figure: Literal['step_ns', 'utilization', 'mfu', 'memory_peak_bytes'] = 'step_ns',
        matching: str | None = None,
        ranks: Literal['lowest', 'all'] = 'lowest',
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> History:
        """All recordings of a logdir, with the trend of one figure; the lowest rank of each run."""

    def serving(
        self,
        *,
        step: int | None = None,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> Serving:
        """The iterations of serving by phase: prefill, decode, mixed, or unknown."""

    def compilation(
        self,
        *,
        step: int | None = None,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> Compilation:
        """Compilations of torch.compile: times by phase, graph breaks, recompilations, their guards."""

    def quality(
        self,
        *,
        step: int | None = None,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> Quality:
        """Findings by severity, then in the order of the pipeline; the file's contents and links."""

    def method(
        self,
        *,
        step: int | None = None,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> Method:
        """The grounds of the timeline; ``step`` limits the activities, evidence and limits to one."""

