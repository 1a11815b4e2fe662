"""Two processes train the same perceptron; gloo averages their gradients in the host's memory.

gloo knows no PrivateUse1 tensors, so each gradient is copied to the host and back. A vendor with a
communication library registers a process group backend instead and uses DistributedDataParallel.
"""

import argparse
import os
import socket

import torch
import torch.distributed as dist
from torch import nn

import refdevice

from . import mlp
from .script import Step, arguments, record, settings

RANKS = 2


def average(parameters: list[nn.Parameter]) -> None:
    """Average all gradients in one all-reduce, as DistributedDataParallel does with a bucket."""
    gradients = [each.grad for each in parameters if each.grad is not None]
    flat = torch.cat([each.flatten() for each in gradients]).cpu()
    dist.all_reduce(flat)
    averaged = (flat / dist.get_world_size()).to(gradients[0].device)
    parts = averaged.split([each.numel() for each in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))


def build(device: str) -> Step:
    """Prepare on the device and give the step."""
    model = nn.Sequential(
        nn.Linear(mlp.FEATURES, mlp.HIDDEN), nn.ReLU(), nn.Linear(mlp.HIDDEN, mlp.CLASSES)
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())  # from here on each rank has data of its own
    data = mlp.batches()

    def step() -> torch.Tensor:
        features, labels = next(data)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(features.to(device)), labels.to(device))
        loss.backward()
        average(list(model.parameters()))
        optimizer.step()
        return loss.detach()

    return step


def run_rank(rank: int, port: int, options: argparse.Namespace) -> None:
    """Train and record as one of the processes."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    refdevice.configure(**settings(options.set))
    options.worker_name = f"{options.worker_name or 'worker'}-rank{rank}"
    options.truth_name = f"truth-rank{rank}.json.gz"
    torch.manual_seed(0)
    if options.device == "refdev":
        torch.refdev.set_device(rank)
    record(build(options.device), options)
    dist.barrier()
    dist.destroy_process_group()


def free_port() -> int:
    """Ask the system for a port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


if __name__ == "__main__":
    torch.multiprocessing.spawn(
        run_rank, (free_port(), arguments(__doc__).parse_args()), nprocs=RANKS
    )
