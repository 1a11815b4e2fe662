"""Order, times and waiting: an asynchronous accelerator, exactly as configured."""

import time

import pytest
import refdevice
import torch

KERNEL_US = 200  # of each kernel
EXACT = {
    "kernel_fixed_ns": KERNEL_US * 1000,
    "bandwidth_gb_per_s": 1e9,
    "throughput_gflop_per_s": 1e9,
}


@pytest.fixture
def x():
    """A tensor whose kernels take KERNEL_US each."""
    made = torch.ones(4, device="refdev")
    made + 1, made.add_(0), made * 1  # shapes are known from here on
    torch.refdev.synchronize()
    refdevice.configure(**EXACT)
    return made


def test_kernels_of_a_stream_run_one_after_the_other(x, truth):
    for _ in range(20):
        x = x + 1
    assert x[0].item() == 21
    log = truth()
    kernels = range(20)
    assert [log["kernel"][i] for i in kernels] == ["refdev_add_kernel"] * 20
    for i in kernels:
        assert log["end_ns"][i] - log["start_ns"][i] == KERNEL_US * 1000
    for i in kernels[1:]:
        assert log["launch_ns"][i] >= log["launch_ns"][i - 1]
        after_previous = log["end_ns"][i - 1]
        assert log["start_ns"][i] == max(after_previous, log["launch_ns"][i] + 6000)


def test_launch_latency_of_an_idle_device(x, truth):
    refdevice.configure(launch_latency_ns=50_000)
    x + 1
    torch.refdev.synchronize()
    log = truth()
    assert log["start_ns"][0] - log["launch_ns"][0] == 50_000


def test_launch_jitter(x, truth):
    refdevice.configure(launch_jitter_ns=30_000, kernel_fixed_ns=1000)
    for _ in range(20):
        x + 1
        torch.refdev.synchronize()
    log = truth()
    latencies = [
        start - launch for start, launch in zip(log["start_ns"], log["launch_ns"], strict=True)
    ]
    assert min(latencies) >= 6000
    assert max(latencies) <= 36_000
    assert max(latencies) - min(latencies) > 10_000


def test_gap_between_kernels(x, occupy, truth):
    refdevice.configure(kernel_gap_ns=1500)
    occupy()
    for _ in range(5):
        x + 1
    torch.refdev.synchronize()
    log = truth()
    assert [log["start_ns"][i] - log["end_ns"][i - 1] for i in range(1, 6)] == [1500] * 5


def test_an_event_takes_time_on_its_stream(x, occupy, truth):
    refdevice.configure(event_cost_ns=2000)
    events = [torch.refdev.Event(enable_timing=True) for _ in range(3)]
    occupy()
    for event in events:
        event.record()
    x + 1
    torch.refdev.synchronize()
    assert events[0].elapsed_time(events[2]) == pytest.approx(0.004)
    log = truth()
    assert log["start_ns"][1] - log["end_ns"][0] == 3 * 2000


def test_elapsed_time_is_the_kernels_between_in_ms(x, occupy):
    first, second = (torch.refdev.Event(enable_timing=True) for _ in range(2))
    occupy()
    first.record()
    x + 1
    x + 1
    second.record()
    with pytest.raises(RuntimeError, match="completed"):
        first.elapsed_time(second)
    second.synchronize()
    assert first.elapsed_time(second) == pytest.approx((2 * KERNEL_US + 0.3) / 1000)


def test_the_host_does_not_wait_for_a_launch_but_for_a_synchronization(x, truth):
    refdevice.configure(kernel_fixed_ns=1_000_000)
    before = time.perf_counter()
    for _ in range(100):
        x + 1
    launched = time.perf_counter()
    assert not torch.accelerator.current_stream().query()
    torch.refdev.synchronize()
    done = time.perf_counter()
    assert launched - before < 0.5 * (done - before)
    assert done - before >= 0.1
    assert time.time_ns() >= truth()["end_ns"][-1]
    assert torch.accelerator.current_stream().query()


@pytest.mark.parametrize("wait", ["item", "cpu", "event", "stream", "device"])
def test_what_waits(x, truth, wait):
    for _ in range(50):
        x = x + 1
    event = torch.refdev.Event()
    event.record()
    {
        "item": x[0].item,
        "cpu": x.cpu,
        "event": event.synchronize,
        "stream": torch.refdev.current_stream().synchronize,
        "device": torch.refdev.synchronize,
    }[wait]()
    assert time.time_ns() >= truth()["end_ns"][49]


def test_streams_run_at_the_same_time(x, occupy, truth):
    side = torch.refdev.Stream()
    occupy()
    side.wait_stream(torch.refdev.current_stream())
    for _ in range(10):
        x + 1
        with torch.refdev.stream(side):
            x * 1
    torch.refdev.synchronize()
    log = truth()
    assert log["stream"][1:] == [0, side.stream_id] * 10
    begin = log["end_ns"][0] + 300  # the event that the side stream waits for
    assert log["start_ns"][1] == log["start_ns"][2] == begin
    assert max(log["end_ns"]) == begin + 10 * KERNEL_US * 1000


def test_a_stream_waits_for_an_event_of_another(x, truth):
    side = torch.refdev.Stream()
    for _ in range(5):
        x.add_(1)
    event = torch.refdev.Event()
    event.record()
    with torch.refdev.stream(side):
        side.wait_event(event)
        y = x * 1
    x.add_(100)  # after the event: the side stream may or may not run at the same time
    torch.refdev.synchronize()
    log = truth()
    on_side = log["stream"].index(side.stream_id)
    assert log["start_ns"][on_side] >= log["end_ns"][4]
    assert y.device.type == "refdev"


def test_a_wait_orders_the_data_too(x):
    big = torch.zeros(1_000_000, device="refdev")
    side = torch.refdev.Stream()
    for _ in range(20):
        big.add_(1)
    side.wait_stream(torch.refdev.current_stream())
    with torch.refdev.stream(side):
        total = big.sum()
        assert total.item() == 20_000_000


def test_streams_of_a_device_and_contexts():
    default = torch.refdev.default_stream()
    assert torch.refdev.current_stream() == default == torch.accelerator.current_stream()
    ids = {torch.refdev.Stream().stream_id for _ in range(6)}
    assert ids == {1, 2, 3}
    with torch.refdev.stream(torch.refdev.Stream(device="refdev:1")):
        assert torch.refdev.current_device() == 1
    assert torch.refdev.current_device() == 0
    with torch.refdev.device("refdev:1"):
        assert torch.empty(1, device="refdev").device.index == 1
    assert torch.accelerator.device_count() == torch.refdev.device_count() == 2


def test_devices_are_independent(x, occupy, truth):
    y = torch.ones(4, device="refdev:1")
    torch.accelerator.synchronize(1)
    refdevice.truth.start()
    occupy()
    y + 1
    torch.refdev.synchronize(1)
    assert not torch.refdev.current_stream(0).query()
    log = truth()
    assert log["device"] == [0, 1]
    assert log["start_ns"][1] == log["launch_ns"][1] + 6000


def test_a_full_queue_makes_the_host_wait(x, truth):
    refdevice.configure(queue_depth=8)
    for _ in range(40):
        x + 1
    log = truth()
    torch.refdev.synchronize()
    for i in range(8, 40):
        assert log["launch_ns"][i] >= log["end_ns"][i - 8]


def test_noise_is_repeatable_and_about_as_wide_as_asked_for(x):
    def durations():
        refdevice.configure(jitter=0.1, seed=7)
        refdevice.truth.start()
        for _ in range(200):
            x + 1
        torch.refdev.synchronize()
        refdevice.truth.stop()
        log = refdevice.truth.columns()
        return [end - start for start, end in zip(log["start_ns"], log["end_ns"], strict=True)]

    first = durations()
    assert durations() == first
    deviation = torch.tensor(first, dtype=torch.float64).std().item() / (KERNEL_US * 1000)
    assert 0.07 < deviation < 0.13


def test_cost_model():
    a, b = torch.zeros(64, 32, device="refdev"), torch.zeros(32, 16, device="refdev")
    refdevice.configure(
        kernel_fixed_ns=1000, bandwidth_gb_per_s=2.0, throughput_gflop_per_s=4.0, speed=0.5
    )
    torch.refdev.synchronize()
    refdevice.truth.start()
    a @ b
    torch.refdev.synchronize()
    refdevice.truth.stop()
    log = refdevice.truth.columns()
    moved = 4 * (64 * 32 + 32 * 16 + 64 * 16)
    operations = 2 * 64 * 32 * 16
    assert log["bytes"] == [moved]
    assert log["end_ns"][0] - log["start_ns"][0] == round((1000 + moved / 2 + operations / 4) / 0.5)


def test_names_and_kinds(truth):
    x = torch.zeros(8).to("refdev", non_blocking=True)
    x.zero_()
    y = x.clone()
    y.fill_(3)
    torch.nn.functional.softmax(y, 0)
    x.view(2, 4).t()
    torch.empty(100, device="refdev")
    y.cpu()
    log = truth()
    assert list(zip(log["kernel"], log["kind"], strict=True)) == [
        ("Memcpy HtoD", "memcpy"),
        ("Memset", "memset"),
        ("Memcpy DtoD", "memcpy"),
        ("refdev_fill_kernel", "kernel"),
        ("refdev_softmax_kernel", "kernel"),
        ("Memcpy DtoH", "memcpy"),
    ]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"launch_latency_ns": -1}, ValueError),
        ({"speed": 0.0}, ValueError),
        ({"jitter": 1.0}, ValueError),
        ({"elapsed_kind": "sundial"}, ValueError),
        ({"elapsed_unit": "s"}, ValueError),
        ({"spede": 2.0}, TypeError),
    ],
)
def test_a_wrong_setting_is_named_and_changes_nothing(wrong, error):
    before = refdevice.config()
    with pytest.raises(error, match=next(iter(wrong))):
        refdevice.configure(**wrong)
    assert refdevice.config() == before
