"""Several profilers, and calls in a wrong order."""

from __future__ import annotations

from tests.device.capture.circumstances.runner import Circumstance

BUSY, LOST, IGNORED = ("profiler-busy",), ("window-lost",), ("call-ignored",)

PROFILERS = [
    Circumstance("one inside the other", """
        with profile(on_trace_ready=handler("a")):
            work()
            with profile(on_trace_ready=handler("b")):
                work()
            work()
        """, warnings=BUSY, torch=-11),
    Circumstance("the tables of the inner one", """
        with profile(on_trace_ready=handler("a")):
            with profile() as inner:
                work()
            inner.key_averages().table()
            inner.events()
            inner.export_chrome_trace("inner.json")
        """, warnings=("export-failed", *BUSY), torch=-11),
    Circumstance("torch's inside ours", """
        with profile(on_trace_ready=handler("a")):
            with torch.profiler.profile(activities=[A.CPU]) as theirs:
                work()
            assert len(theirs.events())
            work()
        """, traces=0, warnings=LOST, torch=-11),
    Circumstance("the window after torch's inside ours", """
        theirs = torch.profiler.profile(activities=[A.CPU])
        cycles = schedule(wait=0, warmup=1, active=1, repeat=2)
        with profile(schedule=cycles, on_trace_ready=handler("a")) as prof:
            for step in range(4):
                work()
                if step == 1:
                    theirs.start()
                    theirs.stop()
                prof.step()
        """, warnings=LOST, torch=-11),
    Circumstance("ours inside torch's", """
        with torch.profiler.profile(activities=[A.CPU]) as theirs:
            with profile(on_trace_ready=handler("b")):
                work()
        """, traces=0, warnings=BUSY),
    Circumstance("ours inside torch's, which is saved", """
        with torch.profiler.profile(activities=[A.CPU]) as theirs:
            with profile(on_trace_ready=handler("b")):
                work()
        theirs.export_chrome_trace("theirs.json")
        """, traces=0, warnings=BUSY, torch=-11),
    Circumstance("ours ends first", """
        theirs = torch.profiler.profile(activities=[A.CPU])
        prof = profile(on_trace_ready=handler("a"))
        prof.start()
        theirs.start()
        work()
        prof.stop()
        theirs.stop()
        theirs.export_chrome_trace("theirs.json")
        """, traces=0, warnings=LOST, torch=-11),
    Circumstance("a thread each", """
        def one(name):
            barrier.wait()
            with profile(on_trace_ready=handler(name)):
                for _ in range(20):
                    work()
                barrier.wait()
        barrier = threading.Barrier(2)
        threads = [threading.Thread(target=one, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        """, warnings=BUSY, torch=-11),
    Circumstance("one in a thread inside of ours", """
        def one():
            with profile(on_trace_ready=handler("b")):
                work()
        with profile(on_trace_ready=handler("a")):
            in_thread(one)
            work()
        """, warnings=BUSY, torch=-11),
    Circumstance("torch's in a thread inside of ours, and ours again", """
        def one():
            with torch.profiler.profile(activities=[A.CPU]):
                work()
        with profile(on_trace_ready=handler("a")):
            in_thread(one)
            work()
        with profile(on_trace_ready=handler("b")):
            work()
        """, warnings=LOST, torch=-11),
    Circumstance("torch's in a thread while ours warms up", """
        def one():
            with torch.profiler.profile(activities=[A.CPU]):
                work()
        cycles = schedule(wait=0, warmup=1, active=1, repeat=2)
        with profile(schedule=cycles, on_trace_ready=handler("a")) as prof:
            for step in range(4):
                if step == 0:
                    in_thread(one)
                work()
                prof.step()
        """, warnings=BUSY, torch=-11),
    Circumstance("autograd's inside ours", """
        with profile(on_trace_ready=handler("a")):
            with torch.autograd.profiler.profile():
                work()
        """, traces=0, warnings=LOST, torch=-11),
    Circumstance("ours inside autograd's", """
        with torch.autograd.profiler.profile():
            with profile(on_trace_ready=handler("a")):
                work()
        """, traces=0, warnings=BUSY),
    Circumstance("ours inside emit_itt", """
        with torch.autograd.profiler.emit_itt():
            with profile(on_trace_ready=handler("a")):
                work()
        """, traces=0, warnings=BUSY, torch=1),
    Circumstance("emit_itt inside ours", """
        with profile(on_trace_ready=handler("a")):
            with torch.autograd.profiler.emit_itt():
                work()
        """, code=1),
    Circumstance("two warm up in turn", """
        cycles = schedule(wait=0, warmup=2, active=1, repeat=1)
        profilers = [profile(schedule=cycles, on_trace_ready=handler(name)) for name in "ab"]
        for prof in profilers:
            prof.start()
        for _ in range(4):
            for prof in profilers:
                work()
                prof.step()
        for prof in profilers:
            prof.stop()
        """, warnings=BUSY, torch=-11),
    Circumstance("stop twice", """
        prof = profile(on_trace_ready=handler("a"))
        prof.start()
        work()
        prof.stop()
        prof.stop()
        """, warnings=IGNORED, torch=-11),
    Circumstance("stop without start", """
        profile(on_trace_ready=handler("a")).stop()
        """, traces=0, warnings=IGNORED, torch=1),
    Circumstance("start twice", """
        prof = profile(on_trace_ready=handler("a"))
        prof.start()
        work()
        prof.start()
        work()
        prof.stop()
        """, warnings=IGNORED),
    Circumstance("start again after stop", """
        prof = profile(on_trace_ready=handler("a"))
        for _ in range(2):
            prof.start()
            work()
            prof.stop()
        """, traces=2),
    Circumstance("step after stop", """
        prof = profile(schedule=schedule(wait=1, warmup=1, active=1), on_trace_ready=handler("a"))
        prof.start()
        for _ in range(3):
            work()
            prof.step()
        prof.stop()
        for _ in range(4):
            work()
            prof.step()
        """, warnings=IGNORED),
    Circumstance("steps without start", """
        cycles = schedule(wait=1, warmup=1, active=1, repeat=1)
        prof = profile(schedule=cycles, on_trace_ready=handler("a"))
        for _ in range(4):
            work()
            prof.step()
        """),
    Circumstance("steps of another thread", """
        def train():
            for _ in range(4):
                work()
                prof.step()
        cycles = schedule(wait=1, warmup=1, active=1, repeat=1)
        with profile(schedule=cycles, on_trace_ready=handler("a")) as prof:
            in_thread(train)
        """),
    Circumstance("stop in another thread", """
        prof = profile(on_trace_ready=handler("a"))
        prof.start()
        work()
        in_thread(prof.stop)
        work()
        """, traces=0, warnings=LOST, torch=-11),
    Circumstance("stop in another thread, and ours again", """
        prof = profile(on_trace_ready=handler("a"))
        prof.start()
        in_thread(prof.stop)
        with profile(on_trace_ready=handler("b")):
            work()
        """, warnings=LOST, torch=-11),
    Circumstance("never started", """
        profile(on_trace_ready=handler("a"))
        work()
        """, traces=0),
    Circumstance("an export while recording", """
        with profile(on_trace_ready=handler("a")) as prof:
            work()
            prof.export_chrome_trace("own.json")
        """, code=1),
    Circumstance("an export without a start", """
        profile().export_chrome_trace("own.json")
        """, code=1, traces=0),
]  # fmt: skip
