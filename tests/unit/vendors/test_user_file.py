"""Vendors that users describe in a file: keys, errors, and the effect on traces."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1 import cli
from tb_privateuse1.analysis.memory import allocations
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.disk_cache import cache_key
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace import labels
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Meta, Trace
from tb_privateuse1.trace.peaks import Rates
from tb_privateuse1.trace.vendor import Vendor
from tb_privateuse1.vendors import GENERIC, VENDORS, detect, user_file
from tb_privateuse1.views.kernels import kernels
from tests.support import make
from tests.support.trace_files import write

ACME = """
name = "acme"
title = "Acme <A1>"
backends = ["refdev"]
kernel_categories = ["Kernel", "acme_kernel"]
communication_names = "^accl"
"""


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that writes vendor files and selects them."""

    def write(*texts: str, suffix: str = ".toml") -> list[Path]:
        paths = [tmp_path / f"vendor{n}{suffix}" for n in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        monkeypatch.setenv(user_file.VARIABLE, os.pathsep.join(map(str, paths)))
        return paths

    return write


def document() -> dict[str, Any]:
    return make.document(
        make.op("aten::mm", 1, 10, id=5),
        make.span("privateuse1_runtime", "launch", 2, 4, correlation=1),
        make.kernel("gemm", 20, 30, 1, category="acme_kernel"),
        make.kernel("acclSum", 30, 50, category="kernel"),
        tb_privateuse1={"backend": "refdev"},
    )


def test_without_files_there_are_ours() -> None:
    vendors = user_file.load_vendors()
    assert vendors == user_file.OURS
    assert vendors.known == VENDORS
    assert vendors.fingerprint == ""
    assert vendors.named("mlu").title == "Cambricon MLU"
    assert vendors.named("gone") == GENERIC


def test_a_file_describes_the_processes_of_its_own_tool(use: Any) -> None:
    process = '{names = "^Acme$", category = "ACME_kernel", threads = "^Queue"}'
    use(f"{ACME}processes = [{process}]")
    (found,) = user_file.load_vendors().named("acme").processes
    assert (found.names.pattern, found.category) == ("^Acme$", "acme_kernel")
    assert found.threads is not None
    assert (found.threads.pattern, found.events) == ("^Queue", None)
    use(f"{ACME}processes = [{process.replace('^Queue', '(')}]")
    with pytest.raises(TraceError, match="no valid regular expression as processes"):
        user_file.load_vendors()


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_a_file_adds_a_vendor(use: Any, suffix: str) -> None:
    as_json = {"name": "acme", "backends": ["refdev"], "device_names": "acme|\\bA1"}
    as_toml = 'name = "acme"\nbackends = ["refdev"]\ndevice_names = "acme|\\\\bA1"'
    use(json.dumps(as_json) if suffix == ".json" else as_toml, suffix=suffix)
    first, *others = user_file.load_vendors().known
    assert tuple(others) == VENDORS
    assert (first.name, first.title, first.backends) == ("acme", "acme", ("refdev",))
    assert detect(None, ["ACME 7"], known=user_file.load_vendors().known) is not None
    assert detect(None, ["ACME 7"], known=user_file.load_vendors().known).name == "acme"
    assert detect("refdev", known=user_file.load_vendors().known).name == "acme"
    assert detect("other", known=user_file.load_vendors().known).name == "generic"


def test_its_words_count(use: Any) -> None:
    plain = make.trace(*document()["traceEvents"], tb_privateuse1={"backend": "refdev"})
    assert (plain.meta.vendor, len(plain.kernels)) == ("generic", 1)
    use(ACME)
    events = document()["traceEvents"]
    known = user_file.load_vendors().known
    trace = make.trace(*events, known=known, tb_privateuse1={"backend": "refdev"})
    assert (trace.meta.vendor, trace.vendor) == ("acme", known[0])
    assert [trace.text(name) for name in trace.kernels.name] == ["gemm", "acclSum"]
    assert trace.kernels.communication.tolist() == [False, True]


def test_missing_keys_come_from_the_extended_vendor(use: Any) -> None:
    use('name = "cuda"\nextends = "rocm"\ntitle = "Both"\ncommunication_names = "^my"')
    known = user_file.load_vendors().known
    rocm = next(vendor for vendor in VENDORS if vendor.name == "rocm")
    assert [vendor.name for vendor in known].count("cuda") == 1
    assert known[0].device_types == rocm.device_types
    assert known[0].communication_names == re.compile("^my")
    assert detect("cuda", ["AMD Instinct"], known=known).title == "Both"
    assert detect("cuda", known=known).title == "Both"


def test_vendor_without_evidence_means_every_trace(use: Any) -> None:
    use('name = "all"\ncommunication_names = "x"')
    assert detect("cuda", ["NVIDIA H100"], known=user_file.load_vendors().known).name == "all"


def test_generic_stays_the_last(use: Any) -> None:
    use('name = "generic"\nextends = "generic"\ntitle = "Ours"', ACME)
    known = user_file.load_vendors().known
    assert [known[0].name, known[-1].title] == ["acme", "Ours"]
    assert len(known) == len(VENDORS) + 1


def test_a_vendor_file_has_a_key_for_every_field() -> None:
    said = set(user_file._Description.__struct_fields__)
    assert said - {"extends"} == set(Vendor.__struct_fields__)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "missing required field `name`"),
        ('name = ""', "its name is empty"),
        ("name = 3", "`$.name`"),
        ('name = "a"\ncolor = "red"', "`color`"),
        ('name = "a"\nbackends = "b"', "`$.backends`"),
        ('name = "a"\ndevice_types = ["20"]', "`$.device_types"),
        ('name = "a"\ndevice_names = "("', "no valid regular expression as device_names"),
        ('name = "a"\nextends = "b"', "extends 'b', which is none of mtia, rocm"),
        ("name =", "cannot be used"),
        ('name = "a"\nruntime_prefixes = [""]', "`$.runtime_prefixes"),
        ('name = "a"\nperfetto_gpu_api = -1', "`$.perfetto_gpu_api`"),
        ('name = "a"\nname = "b"', "cannot be used"),
    ],
)
def test_errors_name_the_file_and_the_mistake(use: Any, text: str, says: str) -> None:
    use(text)
    with pytest.raises(TraceError) as caught:
        user_file.load_vendors()
    assert caught.value.code == "bad_vendor"
    assert "vendor0.toml" in caught.value.message
    assert says in caught.value.message


@pytest.mark.parametrize("text", ["[]", "{", "[" * 100_000])
def test_bad_json(use: Any, text: str) -> None:
    use(text, suffix=".json")
    with pytest.raises(TraceError, match=r"vendor0\.json cannot be used"):
        user_file.load_vendors()


def test_no_file_and_no_text(use: Any) -> None:
    (path,) = use("")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(TraceError, match="cannot be used"):
        user_file.load_vendors()
    path.unlink()
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        user_file.load_vendors()


def test_a_cached_trace_is_of_one_vendor_file(use: Any, tmp_path: Path) -> None:
    write(tmp_path / "log" / "r" / "host_1.1.pt.trace.json", document())
    files = catalog.scan(str(tmp_path / "log"), READERS).find()
    keys = [cache_key(files)]
    for text in (ACME, ACME.replace("accl", "other")):
        use(text)
        keys.append(cache_key(files, user_file.load_vendors()))
    assert len(set(keys)) == 3
    use(ACME)
    assert cache_key(files, user_file.load_vendors()) == keys[1]


@pytest.mark.long
@pytest.mark.parametrize("jobs", [0, 1])
def test_a_trace_keeps_the_vendor_that_was_read_at_the_start(
    use: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    write(tmp_path / "log" / "r" / "host_1.1.pt.trace.json", document())
    files = catalog.scan(str(tmp_path / "log"), READERS).find()
    (path,) = use(ACME)
    vendors = user_file.load_vendors()
    monkeypatch.delenv(user_file.VARIABLE)
    path.write_text("broken")
    for _ in ("read", "from the cache"):
        store = Store(jobs, tmp_path / "cache", vendors=vendors)
        trace = store.trace(files)
        store.close()
        assert trace.vendor == vendors.known[0]
        assert labels.device(trace)[0].value == "Acme <A1> (refdev)"
        assert kernels(trace).calls == 2


def test_a_vendors_own_names_are_shown(use: Any) -> None:
    use(
        'name = "acme"\nbackends = ["refdev"]\ndevice_types = [20, 33]\n'
        'device_type_name = "ACME"\nperfetto_gpu_api = 3'
    )
    trace = make.trace(
        make.memory(3, 64, 64, 33),
        known=user_file.load_vendors().known,
        tb_privateuse1={"backend": "refdev"},
    )
    assert allocations.device_label(trace, (33, 0)) == "ACME 0"
    assert allocations.device_label(trace, (6, 1)) == "HIP 1"
    assert trace.vendor.perfetto_gpu_api == 3


@pytest.mark.long
def test_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(user_file.VARIABLE, raising=False)
    write(tmp_path / "log" / "r" / "host_1.1.pt.trace.json", document())
    file = tmp_path / "acme.toml"
    file.write_text(ACME)
    log, vendor = str(tmp_path / "log"), ["--vendor", str(file)]

    def calls(*arguments: str) -> int:
        assert cli.main(["view", "kernels", log, "--json", *arguments]) == 0
        found: int = json.loads(capsys.readouterr().out)["calls"]
        return found

    assert calls() == 1
    assert calls(*vendor) == 2
    assert calls() == 1
    assert cli.main(["ingest", log, *vendor, "--json", "--force"]) == 0  # in another process
    assert json.loads(capsys.readouterr().out)["read"] == 1
    assert calls(*vendor) == 2
    assert cli.main(["view", "overview", log, *vendor]) == 0
    assert "Acme <A1> (refdev)" in capsys.readouterr().out
    file.write_text("name = 3")
    assert cli.main(["view", "overview", log, *vendor]) == 2
    assert "acme.toml cannot be used" in capsys.readouterr().err


def test_a_file_describes_peaks_of_devices(use: Any) -> None:
    use(
        'name = "acme"\ncompute_units = "Tiles"\nbackends = ["acme"]\n'
        '[[peaks]]\ndevice_names = "a1"\nhalf_tflops = 12.5\n'
    )
    vendor = user_file.load_vendors().named("acme")
    assert vendor is not None
    assert vendor.compute_units == "Tiles"
    peak = vendor.peak("Acme A1")
    assert peak is not None
    assert (peak.half_tflops, peak.memory_gb_per_s) == (12.5, None)
    assert peak.source == "user_file"
    assert vendor.peak("Other") is None


def test_a_file_describes_rates_by_type(use: Any) -> None:
    use(
        """
        name = "acme"
        [[peaks]]
        device_names = "a1"
        half_tflops = 12.5
        matrix_tflops = { fp16 = 14, fp8 = 25 }
        vector_tflops = { fp32 = 2 }
        cache_mb = 32
        link = "AcmeLink"
        link_gb_per_s = 100
        host_gb_per_s = 16
        """
    )
    peak = user_file.load_vendors().named("acme").peak("Acme A1")
    assert peak is not None
    assert peak.matrix == Rates(bf16=12.5, fp16=14, fp8=25)
    assert peak.vector == Rates(fp32=2)
    assert (peak.link, peak.link_gb_per_s, peak.host_gb_per_s) == ("AcmeLink", 100, 16)
    assert (peak.cache_mb, peak.memory_gb_per_s) == (32, None)


def test_facts_say_that_a_peak_is_from_a_vendor_file(use: Any) -> None:
    use('name = "acme"\n[[peaks]]\ndevice_names = "a1"\nhalf_tflops = 9\nmemory_gb_per_s = 8\n')
    vendor = user_file.load_vendors().named("acme")
    trace = Trace(vendor=vendor, meta=Meta(devices=({"name": "Acme A1"},)))
    facts = {fact.label: fact.value for fact in labels.device(trace)}
    assert facts["Peak in half precision"] == "9 TFLOP/s, vendor file"
    assert facts["Peak memory bandwidth"] == "8 GB/s, vendor file"


@pytest.mark.parametrize(
    "peak",
    [
        'device_names = "("',
        "half_tflops = 1",
        'device_names = "a1"\nhalf_tflops = -1',
        'device_names = "a1"\nhalf_tflops = 0',
        'device_names = "a1"\nmemory_gb_per_s = inf',
        'device_names = "a1"\nmemory_gb_per_s = nan',
        'device_names = "a1"\nmemory_gb_per_s = "fast"',
        'device_names = "a1"\ntflops = 1',
        'device_names = "a1"\nmatrix_tflops = { fp12 = 1 }',
        'device_names = "a1"\nvector_tflops = { fp32 = 0 }',
        'device_names = "a1"\nmatrix_tflops = 3',
    ],
)
def test_an_invalid_peak_is_refused(use: Any, peak: str) -> None:
    use(f'name = "acme"\n[[peaks]]\n{peak}\n')
    with pytest.raises(TraceError) as caught:
        user_file.load_vendors()
    assert caught.value.code == "bad_vendor"
