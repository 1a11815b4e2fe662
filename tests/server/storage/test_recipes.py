"""The recipes for Slurm and Kubernetes: as far as they can be run and checked without a cluster."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import many_ranks
from tb_privateuse1 import cli
from tb_privateuse1.storage.engines import select_engine
from tests.support.sources import PACKAGE

pytest.importorskip("distributed")
import yaml

RECIPES = PACKAGE.parent / "examples" / "cluster"
SLURM, KUBERNETES = RECIPES / "slurm.sh", RECIPES / "kubernetes.yaml"
SBATCH = {"job-name", "nodes", "ntasks-per-node", "cpus-per-task", "mem-per-cpu", "time"}
"""Options of sbatch (its manual) that the recipe may use."""
VERSIONS = {
    "Service": "v1", "NetworkPolicy": "networking.k8s.io/v1", "Deployment": "apps/v1",
    "Job": "batch/v1",
}  # fmt: skip
SRUN = """#!/bin/bash
for task in 1 2; do "$@" & done
wait
"""
"""Slurm's ``srun`` of two tasks on this machine. It ends as they do."""


def known_flags(tool: str) -> set[str]:
    """Return the options of a tool of Dask, as its help lists them."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{tool}", "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"--[a-z-]+", text))


def check_command(words: list[str]) -> None:
    """Check that a command of a recipe is one that our tools or Dask's understand."""
    flags = {word.partition("=")[0] for word in words if word.startswith("--")}
    match words:
        case ["dask", tool, *_]:
            assert flags <= known_flags(tool), words
        case ["tb-privateuse1", *arguments]:
            options = cli._parser().parse_args(arguments)
            select_engine(options.engine).close()
        case ["tensorboard", *_]:
            assert flags <= {"--logdir", "--port"}
        case _:
            raise AssertionError(f"unknown command {words}")


def documents() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(KUBERNETES.read_text()))


def test_the_slurm_script_has_options_of_sbatch_and_commands_of_ours() -> None:
    subprocess.run(["bash", "-n", str(SLURM)], check=True)
    text = SLURM.read_text()
    assert text.startswith("#!/bin/bash\n")
    directives = re.findall(r"^#SBATCH --([a-z-]+)=\S+$", text, re.MULTILINE)
    assert len(directives) == text.count("#SBATCH")
    assert set(directives) <= SBATCH
    joined = text.replace("\\\n", " ")
    lines = [line.removesuffix("&") for line in joined.splitlines() if line and line[0] != "#"]
    assert lines.index("set -eu") == 0, "directives come before the first command"
    found = [
        shlex.split(line.removeprefix("srun "))
        for line in lines
        if re.match("(srun )?dask|tb-", line)
    ]
    assert [words[:2] for words in found] == [
        ["dask", "scheduler"], ["dask", "worker"], ["tb-privateuse1", "ingest"],
    ]  # fmt: skip
    for words in found:
        check_command(words)


@pytest.mark.long
def test_the_slurm_script_reads_a_job_with_two_tasks_of_this_machine(tmp_path: Path) -> None:
    many_ranks.make(tmp_path / "runs" / "job", ranks=4, steps=3)
    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text(SRUN)
    srun.chmod(0o755)
    places = [str(srun.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    cache = tmp_path / "cache"
    variables = {
        **os.environ, "PATH": os.pathsep.join(places), "PYTHONPATH": str(PACKAGE.parent),
        "TRACES": str(tmp_path / "runs"), "TB_PRIVATEUSE1_CACHE": str(cache),
        "TMPDIR": str(tmp_path),
    }  # fmt: skip
    done = subprocess.run(
        ["bash", str(SLURM)],
        check=False,
        env=variables,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert re.match(r"4 traces: 4 read \(", done.stdout), done.stdout
    assert len(list(cache.glob("*.arrow"))) == 4
    assert not list(cache.glob("dask.*")), "the scheduler's file is removed"


def test_kubernetes_objects_have_versions_names_and_labels_that_fit() -> None:
    made = documents()
    assert [(one["apiVersion"], one["kind"]) for one in made] == [
        (VERSIONS[one["kind"]], one["kind"]) for one in made
    ]
    names = [(one["kind"], one["metadata"]["name"]) for one in made]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", name) for _, name in names)
    pods = [one["spec"]["template"] for one in made if "template" in one["spec"]]
    labels = [pod["metadata"]["labels"] for pod in pods]
    for one in made:
        if one["kind"] == "Deployment":
            own = one["spec"]["template"]["metadata"]["labels"]
            assert one["spec"]["selector"]["matchLabels"] == own
    (service,) = (one for one in made if one["kind"] == "Service")
    assert service["spec"]["selector"] in labels
    (policy,) = (one for one in made if one["kind"] == "NetworkPolicy")
    chosen = policy["spec"]["podSelector"]["matchLabels"]
    assert all(chosen.items() <= own.items() for own in labels)


def test_containers_of_kubernetes_share_the_cache_and_run_what_exists() -> None:
    made = documents()
    (service,) = (one for one in made if one["kind"] == "Service")
    (port,) = service["spec"]["ports"]
    place = f"{service['metadata']['name']}:{port['port']}"
    for one in made:
        if "template" not in one["spec"]:
            continue
        pod = one["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        words = [*map(str, container["command"])]
        check_command(words)
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}
        mounts = {mount["name"] for mount in container.get("volumeMounts", ())}
        assert mounts == {volume["name"] for volume in pod.get("volumes", ())}
        variables = {entry["name"]: entry["value"] for entry in container.get("env", ())}
        if "scheduler" in words:
            assert (words[words.index("--port") + 1], port["targetPort"]) == ("8786", 8786)
            continue
        assert variables["TB_PRIVATEUSE1_CACHE"] == "/shared/cache"
        assert place in " ".join([*words, *variables.values()])
