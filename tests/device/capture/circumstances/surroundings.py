"""Other processes, places to write to, schedules, and backends that fail."""

from __future__ import annotations

from tests.device.capture.circumstances.runner import Circumstance

FORK = """
    with profile(on_trace_ready=handler("a")) as prof:
        work()
        child = os.fork()
        if child == 0:
            {}
        assert code_of(child) == {}
    """
WORKERS = """
    import multiprocessing

    def double(value):
        torch.ones(8).mul(value)
        return 2 * value

    if __name__ == "__main__":
        with profile(on_trace_ready=handler("a")):
            work()
            with multiprocessing.get_context("{}").Pool(2) as pool:
                assert pool.map(double, range(4)) == [0, 2, 4, 6]
            work()
    """
CYCLES = """
    with profile(
        schedule=schedule(wait=0, warmup=1, active=1, repeat=2), on_trace_ready=handler("a")
    ) as prof:
        for step in range(4):
            work()
            {}
            prof.step()
    """
TO = """
    with profile(on_trace_ready=handler({})):
        work()
    """
UNWRITTEN = ("write-failed",)

SURROUNDINGS = [
    Circumstance("a fork", FORK.format("torch.ones(8).add(1); os._exit(5)", 5)),
    Circumstance("a fork that stops its parent's profiler", FORK.format("prof.stop(); os._exit(5)",
      5), torch=-11),
    Circumstance("a fork that profiles", FORK.format(
        "with profile(on_trace_ready=handler('b')): torch.ones(8)\n            os._exit(5)", 5
    ), device=False, traces=2),
    Circumstance("a fork that gets SIGTERM", """
        with profile(on_trace_ready=handler("a")) as prof:
            work()
            child = os.fork()
            if child == 0:
                time.sleep(20)
            os.kill(child, signal.SIGTERM)
            assert code_of(child) == -signal.SIGTERM
        """),
    Circumstance("a fork that leaves by the with", FORK.format(
        "try:\n                prof.__exit__(None, None, None)\n"
        "            finally:\n                os._exit(5)", 5
    )),
    Circumstance("a profiler in a fork, after a window", """
        with profile(on_trace_ready=handler("a")):
            work()
        child = os.fork()
        if child == 0:
            with profile(on_trace_ready=handler("b")):
                work()
            os._exit(5)
        assert code_of(child) == 5
        """, device=False, traces=2),
    Circumstance("workers by fork", WORKERS.format("fork"), device=False, own_process=True),
    Circumstance("workers by spawn", WORKERS.format("spawn"), own_process=True),
    Circumstance("workers by forkserver", WORKERS.format("forkserver"), own_process=True),
    Circumstance("a DataLoader with workers by fork", """
        from torch.utils.data import DataLoader
        batches = DataLoader(range(8), num_workers=2, multiprocessing_context="fork")
        with profile(on_trace_ready=handler("a")):
            for batch in batches:
                work()
        """, device=False),
    Circumstance("a subprocess", """
        import subprocess
        with profile(on_trace_ready=handler("a")):
            work()
            subprocess.run([sys.executable, "-c", ""], check=True)
        """),
    Circumstance("the logdir is a file", TO.format("[open('a', 'w').close(), 'a/log'][1]"),
      traces=0,
      warnings=UNWRITTEN, torch=1),
    Circumstance("the logdir cannot be written", TO.format("'/proc/log'"),
      traces=0, warnings=UNWRITTEN, torch=1),
    Circumstance("the logdir vanishes", CYCLES.format("shutil.rmtree('a', ignore_errors=True)")),
    Circumstance("no room for the trace", """
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with profile(on_trace_ready=handler("a")):
            for _ in range(200):
                work()
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.RLIM_INFINITY))
        """, traces=0, warnings=UNWRITTEN),
    Circumstance("the clock stands still", """
        time.time_ns = lambda: 1_700_000_000_000_000_000
        """ + CYCLES.format("pass").replace("\n    ", "\n        "), traces=2),
    Circumstance("the clock goes back", """
        clock = time.time_ns
        """ + CYCLES.format(
            "time.time_ns = lambda at=step: clock() - at * 3_600_000_000_000"
        ).replace("\n    ", "\n        "), traces=2),
    Circumstance("no step was recorded", """
        cycles = schedule(wait=5, warmup=1, active=1)
        with profile(schedule=cycles, on_trace_ready=handler("a")) as prof:
            for _ in range(3):
                work()
                prof.step()
        """, traces=0),
    Circumstance("skip_first and repeat", """
        cycles = schedule(skip_first=2, wait=1, warmup=1, active=1, repeat=2)
        with profile(schedule=cycles, on_trace_ready=handler("a")) as prof:
            for _ in range(12):
                work()
                prof.step()
        """, traces=2),
    Circumstance("a hundred thousand steps", """
        cycles = schedule(wait=1, warmup=1, active=1, repeat=1)
        with profile(schedule=cycles, on_trace_ready=handler("a")) as prof:
            for _ in range(100_000):
                prof.step()
        """),
    Circumstance("a schedule that raises", """
        with profile(schedule=lambda step: [][step - 1] if step else torch.profiler.ProfilerAction
                     .RECORD, on_trace_ready=handler("a")) as prof:
            work()
            prof.step()
        """, code=1),
    Circumstance("the backend is imported after the profiler is made", """
        prof = profile(on_trace_ready=handler("a"))
        import refdevice
        with prof:
            (torch.ones(8, device="refdev") + 1).sum().item()
        """, device=False, warnings=("backend-late",)),
    Circumstance("the launch log raises", """
        torch.refdev.stop_launch_log = torch.refdev.start_launch_log = lambda: 1 / 0
        """ + TO.format("'a'").replace("\n    ", "\n        "), warnings=("launches-failed",)),
    Circumstance("the streams raise", """
        torch.refdev.marker_streams = lambda: 1 / 0
        """ + TO.format("'a'").replace("\n    ", "\n        "), warnings=("markers-failed",)),
    Circumstance("the backend cannot tell whether it is there", """
        import refdevice
        torch.accelerator.current_accelerator = lambda *_: 1 / 0
        """ + TO.format("'a'").replace("\n    ", "\n        "), device=False,
      warnings=("route-failed",)),
    Circumstance("the device is lost", """
        def lost(*_):
            raise OSError("device lost")
        with profile(on_trace_ready=handler("a")):
            work()
            torch.refdev.synchronize = torch.accelerator.synchronize = lost
            torch.accelerator.current_stream = lost
            lost()
        """, code=1, warnings=("no-synchronize", "stop-failed"), torch=-11),
    Circumstance("the device is lost, and the program goes on", """
        def lost(*_):
            raise OSError("device lost")
        with profile(on_trace_ready=handler("a")):
            work()
            torch.refdev.synchronize = torch.accelerator.synchronize = lost
            torch.accelerator.current_stream = lost
        """, warnings=("no-synchronize", "stop-failed"), torch=-11),
]  # fmt: skip
