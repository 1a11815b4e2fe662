"""Ends of a program, and handlers of traces and signals."""

from __future__ import annotations

from tests.device.capture.circumstances.runner import Circumstance

CUT = ("cut-short",)
WINDOW = """
    with profile(on_trace_ready=handler("a")):
        work()
        {}
    """
RUNNING = """
    prof = profile(on_trace_ready=handler("a"))
    prof.start()
    work()
    {}
    """
TERMINATE = "os.kill(os.getpid(), signal.SIGTERM)"
INTERRUPT = "os.kill(os.getpid(), signal.SIGINT); time.sleep(20)"

ENDS = [
    Circumstance("an exception", WINDOW.format("1 / 0"), code=1),
    Circumstance("an exception, without with", RUNNING.format("1 / 0"), code=1, warnings=CUT,
        torch=-11),
    Circumstance("sys.exit", WINDOW.format("sys.exit(7)"), code=7),
    Circumstance("sys.exit, without with", RUNNING.format("sys.exit(7)"), code=7, warnings=CUT,
        torch=-11),
    Circumstance("os._exit", WINDOW.format("os._exit(3)"), code=3, traces=0),
    Circumstance("the end while recording", RUNNING.format("pass"), warnings=CUT, torch=-11),
    Circumstance("the end while recording, of a profiler that nobody has", """
        profile(on_trace_ready=handler("a")).start()
        work()
        """, warnings=CUT, torch=-11),
    Circumstance("the end while warming up", """
        cycles = schedule(wait=0, warmup=5, active=1)
        profile(schedule=cycles, on_trace_ready=handler("a")).start()
        work()
        """, traces=0),
    Circumstance("the end while a thread records", """
        def record():
            profile(on_trace_ready=handler("a")).start()
            work()
            ready.set()
            time.sleep(20)
        ready = threading.Event()
        threading.Thread(target=record, daemon=True).start()
        ready.wait()
        """, traces=0, warnings=("window-lost",)),
    Circumstance("Ctrl-C", WINDOW.format(INTERRUPT), code=-2),
    Circumstance("Ctrl-C, without with", RUNNING.format(INTERRUPT), code=-2, warnings=CUT),
    Circumstance("Ctrl-C by its default", """
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        """ + RUNNING.format(INTERRUPT).replace("\n    ", "\n        "), code=-2, warnings=CUT),
    Circumstance("SIGTERM", WINDOW.format(TERMINATE + "; time.sleep(20)"), code=-15, warnings=CUT),
    Circumstance("SIGTERM between windows", """
        cycles = schedule(wait=3, warmup=1, active=1)
        with profile(schedule=cycles, on_trace_ready=handler("a")):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(20)
        """, code=-15, traces=0),
    Circumstance("SIGTERM while a window is saved", """
        def save(prof):
            os.kill(os.getpid(), signal.SIGTERM)
            handler("a")(prof)
        with profile(on_trace_ready=save):
            work()
        time.sleep(20)
        """, code=-15),
    Circumstance("SIGTERM while SIGTERM saves", """
        def save(prof):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(20)
        with profile(on_trace_ready=save):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(20)
        """, code=-15, traces=0),
    Circumstance("SIGTERM with a handler of the program", """
        seen = []
        signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
        with profile(on_trace_ready=handler("a")):
            os.kill(os.getpid(), signal.SIGTERM)
            work()
        assert seen == [1]
        """),
    Circumstance("SIGTERM with a handler that calls the one before", """
        def framework(number, frame):
            seen.append(1)
            if callable(before):
                before(number, frame)
        seen = []
        with profile(on_trace_ready=handler("a")):
            before = signal.signal(signal.SIGTERM, framework)
            os.kill(os.getpid(), signal.SIGTERM)
            work()
        assert seen == [1] and signal.getsignal(signal.SIGTERM) is framework
        """),
    Circumstance("SIGTERM that the program ignores", """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        """ + WINDOW.format(TERMINATE).replace("\n    ", "\n        ")),
    Circumstance("SIGTERM after the window", """
        with profile(on_trace_ready=handler("a")):
            work()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        os.kill(os.getpid(), signal.SIGTERM)
        """, code=-15),
    Circumstance("SIGTERM while a thread records", """
        def record():
            with profile(on_trace_ready=handler("a")):
                work()
                ready.set()
                time.sleep(20)
        ready = threading.Event()
        threading.Thread(target=record, daemon=True).start()
        ready.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        """, code=-15, traces=0),
    Circumstance("SIGKILL", WINDOW.format("os.kill(os.getpid(), signal.SIGKILL)"), code=-9,
        traces=0),
    Circumstance("a handler that raises", """
        def broken(_):
            raise LookupError("mine")
        with profile(on_trace_ready=broken):
            work()
        """, traces=0, warnings=("handler-failed",), torch=1),
    Circumstance("a handler that ends the program", """
        with profile(on_trace_ready=lambda _: sys.exit(7)):
            work()
        """, code=7, traces=0),
    Circumstance("a handler that exports twice", """
        def twice(prof):
            prof.export_chrome_trace("first.pt.trace.json")
            prof.export_chrome_trace("second.pt.trace.json")
        with profile(on_trace_ready=twice):
            work()
        """, warnings=("handler-failed",), torch=1),
    Circumstance("a handler that stops", """
        def stop(prof):
            prof.stop()
            handler("a")(prof)
        cycles = schedule(wait=0, warmup=1, active=1, repeat=1)
        with profile(schedule=cycles, on_trace_ready=stop) as prof:
            for _ in range(3):
                work()
                prof.step()
        """, warnings=("call-ignored",)),
]  # fmt: skip
