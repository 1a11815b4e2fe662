"""Capture on the reference device: each route, its files, and backends that do it wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1 import capture, inference
from tb_privateuse1.readers import chrome
from tests.support.capture import read
from tests.support.on_device import Done, device

OPERATORS = ("cpu_op", "user_annotation")

# -- The event route -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return device(
        tmp_path_factory.mktemp("events"),
        """
        refdevice.configure(launch_latency_ns=50_000)
        prof = train(on_trace_ready=log("plain"), record_shapes=True, profile_memory=True)
        answer["route"] = prof.route
        answer["codes"] = codes(prof)
        rows = prof.key_averages(group_by_input_shape=True)
        answer["device_us"] = {row.key: row.device_time_total for row in rows}
        answer["steps"] = prof.step_num

        train(activities=[A.CPU, A.PrivateUse1], on_trace_ready=log("zipped", use_gzip=True))
        train(activities=[A.PrivateUse1], with_stack=True, on_trace_ready=log("alone"))

        worker = threading.Thread(target=lambda: train(on_trace_ready=log("thread")))
        worker.start()
        worker.join()

        def own(prof):
            prof.export_chrome_trace("own.pt.trace.json")
            capture.write_sidecar(prof, capture.sidecar_path("own.pt.trace.json"))
        train(steps=4, on_trace_ready=own)

        summed = train(acc_events=True)
        answer["accumulated"] = sum(row.key == "ProfilerStep*" for row in summed.events())

        theirs = train(make=torch.profiler.profile, activities=[A.CPU, A.PrivateUse1])
        answer["theirs"] = theirs.profiler.profiler_kind.name

        torch.autograd._supported_activities = lambda: {A.CPU}
        torch.profiler.profile.export_chrome_trace = (
            lambda self, path: self.profiler.kineto_results.save(path))
        del torch.refdev.synchronize
        vendor = train(on_trace_ready=log("vendor", use_python_export=True))
        answer["vendor"] = codes(vendor)
        """,
        RANK="1",
        WORLD_SIZE="4",
    )


def test_each_cycle_leaves_a_pair(events: Done) -> None:
    assert events.answer["route"] == "events"
    assert events.answer["codes"] == []
    assert events.answer["steps"] == 8
    for run in ("plain", "zipped", "alone", "thread"):
        assert len(events.traces(run)) == 2
        assert events.sidecars(run) == [capture.sidecar_path(path) for path in events.traces(run)]
        assert len(list((events.directory / run).iterdir())) == 4
    assert all("_rank1." in path.name for path in events.traces("plain"))


@pytest.mark.parametrize("run", ["plain", "zipped", "alone", "thread"])
def test_every_row_of_the_trace_has_its_device_time(events: Done, run: str) -> None:
    for path in events.traces(run):
        sidecar = read(capture.sidecar_path(path))
        times = dict(zip(sidecar["external_id"], sidecar["elapsed_us"], strict=True))
        rows = [e for e in read(path)["traceEvents"] if "External id" in e.get("args", {})]
        assert sorted(row["args"]["External id"] for row in rows) == sorted(times)
        timed = [row for row in rows if row["cat"] in ("cpu_op", "user_annotation")]
        assert all(times[row["args"]["External id"]] is not None for row in timed)
        assert max(value or 0 for value in times.values()) > 0


def test_the_sidecar_names_its_origin(events: Done) -> None:
    sidecar = read(events.sidecars("plain")[0])
    assert sidecar["schema"] == "tb_privateuse1.kernel_event/1"
    assert (sidecar["backend"], sidecar["rank"], sidecar["world_size"]) == ("refdev", 1, 4)
    assert sidecar["profiler_state"] == "KINETO_PRIVATEUSE1_FALLBACK"
    assert (sidecar["elapsed_kind"], sidecar["elapsed_unit"]) == ("event", "us")
    assert sidecar["elapsed_resolution_ns"] == 1000
    assert sidecar["warnings"] == []


def test_the_launch_latency_is_measured(events: Done) -> None:
    sidecar = read(events.sidecars("plain")[0])
    assert 45_000 < sidecar["launch_latency_ns"] < 150_000
    assert sidecar["sync_return_ns"] >= 0


def test_the_trace_names_backend_and_rank(events: Done) -> None:
    trace = read(events.traces("plain")[0])
    about = trace["tb_privateuse1"]
    assert "recorded nothing" in about.pop("reason")
    assert about == {"backend": "refdev", "route": "events", "warnings": [], "accuracy": None}
    assert (trace["distributedInfo"]["rank"], trace["distributedInfo"]["world_size"]) == (1, 4)


def test_the_window_is_synchronized_around_the_steps(events: Done) -> None:
    for path in events.traces("plain"):
        spans = {
            event["name"]: (event["ts"], event["ts"] + event["dur"])
            for event in read(path)["traceEvents"]
            if event.get("cat") == "user_annotation"
        }
        steps = [span for name, span in spans.items() if name.startswith("ProfilerStep#")]
        assert len(steps) == 2
        assert spans[capture.WINDOW_START][1] <= min(start for start, _ in steps)
        assert max(end for _, end in steps) <= spans[capture.WINDOW_END][0]


def test_torchs_own_tables_have_device_times(events: Done) -> None:
    assert events.answer["device_us"]["aten::addmm"] > 0
    assert events.answer["accumulated"] == 4


def test_other_profilers_are_left_alone(events: Done) -> None:
    assert events.answer["theirs"] == "KINETO_PRIVATEUSE1"


def test_a_sidecar_by_hand(events: Done) -> None:
    trace = read(events.directory / "own.pt.trace.json")
    sidecar = read(events.directory / "own.kernel_event.json")
    ids = {event.get("args", {}).get("External id") for event in trace["traceEvents"]} - {None}
    assert ids == set(sidecar["external_id"])


def test_a_missing_cpu_activity_is_added(events: Done) -> None:
    warned = read(events.sidecars("alone")[0])["warnings"]
    assert [warning["code"] for warning in warned] == ["cpu-activity-added"]
    assert "[cpu-activity-added]" in events.stderr


def test_a_vendors_patches_cost_nothing(events: Done) -> None:
    assert events.answer["vendor"] == ["export-replaced"]
    assert len(events.traces("vendor")) == len(events.sidecars("vendor")) == 2


# -- The other routes and wrong backends -------------------------------------------------------


@pytest.mark.parametrize("way", ["1", "direct"])
def test_a_native_backend_passes_through(tmp_path: Path, way: str) -> None:
    """However it registered: torch's registry knows nothing of a direct way."""
    done = device(
        tmp_path,
        """
        prof = train(on_trace_ready=log("native"))
        answer["native"] = [prof.route, prof.profiler.profiler_kind.name, *codes(prof)]
        prof = train(route="events", on_trace_ready=log("forced"))
        answer["forced"] = [prof.route, *codes(prof)]
        """,
        REFDEVICE_KINETO=way,
    )
    assert done.answer == {"native": ["native", "KINETO_PRIVATEUSE1"], "forced": ["events"]}
    assert done.sidecars("native") == []
    for path in done.traces("native"):
        trace = read(path)
        assert any(event.get("cat") == "kernel" for event in trace["traceEvents"])
        assert not any(event["name"] == capture.WINDOW_START for event in trace["traceEvents"])
        assert trace["tb_privateuse1"]["route"] == "native"
        assert "recorded the device" in trace["tb_privateuse1"]["reason"]
        assert not any(event["name"] == "[memory]" for event in trace["traceEvents"])
    assert len(done.sidecars("forced")) == 2


def test_only_operators_are_in_the_sidecar(tmp_path: Path) -> None:
    """A native profiler adds its kernels and runtime calls to torch's results in any route."""
    done = device(
        tmp_path,
        """
        train(on_trace_ready=log("native"))
        prof = train(route="events", with_stack=True, on_trace_ready=log("events"))
        answer["kinds"] = sorted({row.activity_type() for row in
                                  prof.profiler.kineto_results.events()})
        """,
        REFDEVICE_KINETO="1",
    )
    assert {"kernel", "privateuse1_runtime", "python_function"} <= set(done.answer["kinds"])
    for path in done.traces("events"):
        sidecar = read(capture.sidecar_path(path))
        rows = [e for e in read(path)["traceEvents"] if e.get("cat") in OPERATORS]
        assert sorted(sidecar["external_id"]) == sorted(r["args"]["External id"] for r in rows)
        assert None not in sidecar["elapsed_us"]


def test_a_profiler_that_records_nothing_gives_way_to_events(tmp_path: Path) -> None:
    done = device(
        tmp_path,
        """
        prof = train(on_trace_ready=log("log"), prime_ms=0)
        answer["codes"] = [prof.route, *codes(prof)]
        """,
        REFDEVICE_KINETO="empty",
    )
    assert done.answer["codes"] == ["events"]
    assert len(done.sidecars("log")) == 2
    reason = read(done.traces("log")[0])["tb_privateuse1"]["reason"]
    assert "registered, but" in reason


def test_counters_of_a_kineto_profiler_are_series_of_each_device(tmp_path: Path) -> None:
    """As dynamic plugins have them; the kernels beside them are measured."""
    done = device(
        tmp_path,
        """
        prof = train(on_trace_ready=log("log"), prime_ms=0)
        answer["codes"] = [prof.route, *codes(prof)]
        """,
        REFDEVICE_KINETO="counters",
    )
    assert done.answer["codes"] == ["native", "prime-unused"]
    trace = inference.build_trace(chrome.read(str(done.traces("log")[0])), None)
    assert trace.meta.timeline == "measured"
    series, samples = trace.counter_series, trace.counter_samples
    (row,) = [i for i in range(len(series)) if trace.text(series.name[i]) == "Queue"]
    assert (trace.text(series.process[row]), trace.text(series.key[row])) == (
        "python 0",
        "launches",
    )
    depth = samples.take(samples.series == row).value
    assert depth.max() >= 1
    assert depth[-1] == 0


def test_a_native_backend_without_stubs(tmp_path: Path) -> None:
    """Past torch's registry there is no sign of it, and no warning of a lack of stubs is right."""
    done = device(
        tmp_path,
        """
        prof = train(on_trace_ready=log("log"), prime_ms=0)
        answer["codes"] = [prof.route, *codes(prof)]
        """,
        REFDEVICE_KINETO="direct",
        REFDEVICE_STUBS="0",
    )
    assert done.answer["codes"] == ["native", "prime-unused"]
    assert any(e.get("cat") == "kernel" for e in read(done.traces("log")[0])["traceEvents"])


def test_a_backend_without_stubs_is_told_so(tmp_path: Path) -> None:
    done = device(
        tmp_path,
        """
        prof = train(on_trace_ready=log("log"))
        answer["found"] = [prof.route, *codes(prof)]
        prof = train(activities=[A.PrivateUse1], route="events", on_trace_ready=log("log"))
        answer["forced"] = [prof.route, *codes(prof)]
        """,
        REFDEVICE_STUBS="0",
    )
    assert done.answer["found"] == ["torch", "no-stubs"]
    assert done.answer["forced"] == ["torch", "no-stubs", "cpu-activity-added"]
    assert done.sidecars("log") == []
    assert "[no-stubs]" in done.stderr
    assert "C++ CapturedTraceback" not in done.stderr
    about = read(done.traces("log")[0])["tb_privateuse1"]
    assert about["route"] == "torch"
    assert about["warnings"][0]["code"] == "no-stubs"


def test_what_elapsed_means_is_found_out(tmp_path: Path) -> None:
    done = device(
        tmp_path,
        """
        refdevice.configure(elapsed_unit="ms")
        answer["ms"] = codes(train(on_trace_ready=log("ms")))
        refdevice.configure(elapsed_unit="us", elapsed_resolution_ns=10_000)
        calibration._calibrate.cache_clear()
        answer["coarse"] = codes(train(on_trace_ready=log("coarse")))
        refdevice.configure(elapsed_resolution_ns=1000, elapsed_kind="kernel_sum")
        calibration._calibrate.cache_clear()
        answer["summed"] = codes(train(on_trace_ready=log("summed")))
        refdevice.configure(elapsed_kind="host")
        calibration._calibrate.cache_clear()
        answer["host"] = codes(train(on_trace_ready=log("host")))
        """,
    )
    assert "elapsed-unit" in done.answer["ms"]
    assert done.answer["coarse"] == ["elapsed-coarse"]
    assert done.answer["summed"] == []
    assert read(done.sidecars("summed")[0])["elapsed_kind"] == "kernel_sum"
    assert read(done.sidecars("host")[0])["elapsed_kind"] == "host"
    assert read(done.sidecars("ms")[0])["elapsed_unit"] == "ms"
    assert read(done.sidecars("coarse")[0])["elapsed_resolution_ns"] == 10_000


def test_a_range_across_devices_costs_its_own_row_only(tmp_path: Path) -> None:
    done = device(
        tmp_path,
        """
        with capture.profile(on_trace_ready=log("log")) as prof:
            one = torch.ones(8).to("refdev:0")
            with torch.profiler.record_function("across"):
                torch.accelerator.set_device_index(1)
            two = torch.ones(8).to("refdev:1") + 1
        answer["codes"] = codes(prof)
        """,
    )
    assert done.answer["codes"] == ["row-raised"]
    sidecar = read(done.sidecars("log")[0])
    times = dict(zip(sidecar["external_id"], sidecar["elapsed_us"], strict=True))
    events = read(done.traces("log")[0])["traceEvents"]
    ids = {e["name"]: e["args"]["External id"] for e in events if e.get("cat") == "user_annotation"}
    assert times[ids["across"]] is None
    assert times[ids[capture.WINDOW_END]] is not None
    assert sum(value is None for value in times.values()) == 1
