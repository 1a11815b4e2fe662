"""What the device computes equals what the CPU computes."""

import importlib
from typing import Any

import pytest
import refdevice
import torch
from torch.utils.checkpoint import checkpoint

WORKLOADS = ["mha", "mlp", "transformer", "inference", "streams"]


@pytest.mark.parametrize("name", WORKLOADS)
def test_workload_as_on_the_cpu(name):
    build = importlib.import_module(f"refdevice.workloads.{name}").build
    results = []
    for device in ("cpu", "refdev"):
        torch.manual_seed(0)
        step = build(device)
        results.append([step() for _ in range(4)])
    for expected, got in zip(*results, strict=True):
        torch.testing.assert_close(got.cpu(), expected)


def test_inference_mode_as_on_the_cpu():
    with torch.inference_mode():
        results = [
            torch.nn.functional.layer_norm(X.to(device) @ X.t().to(device), (4,)).add_(1).relu_()
            for device in ("cpu", "refdev")
        ]
        torch.testing.assert_close(results[1].cpu(), results[0])


X = torch.arange(24, dtype=torch.float32).reshape(4, 6) / 7 - 1.5
CASES = {
    "promotion": lambda x: (x.int() * 2.5, x * 2, x.double() + torch.tensor(1.0)),
    "views": lambda x: (x.t() @ x, x[1:, ::2] + 1, x.unfold(1, 2, 2).sum(-1), x.view(3, 8).max()),
    "in place": lambda x: (x.clone().t().add_(1).relu_(), x.clone().masked_fill_(x > 0, 9)),
    "out": lambda x: (
        torch.add(x, x, out=x.new_empty(0)),
        torch.mm(x, x.t(), out=x.new_empty(4, 4)),
    ),
    "index": lambda x: (
        x[torch.tensor([2, 0])],
        x.index_select(1, torch.tensor([1, 1]).to(x.device)),
        x[x > 0],
    ),
    "index put": lambda x: (x.clone().index_put_((torch.tensor([1]).to(x.device),), x[0]),),
    "shape from values": lambda x: (torch.nonzero(x > 0), torch.unique(x.int())),
    "several results": lambda x: (*x.topk(2), *x.sort(descending=True), *torch.var_mean(x, 1)),
    "lists": lambda x: (torch.cat([x, x], 1), torch.stack([x, x]), *torch._foreach_add([x, x], 1)),
    "factories": lambda x: (
        torch.arange(5, device=x.device),
        torch.eye(3, device=x.device),
        torch.zeros_like(x),
    ),
    "reductions": lambda x: (
        x.sum(),
        x.mean(0),
        x.std(),
        x.argmax(1),
        torch.linalg.vector_norm(x),
        x.cumsum(0),
    ),
    "casts": lambda x: (x.half().float(), x.t().to(torch.int64), x.bool()),
    "broadcast copy": lambda x: (torch.empty(2, 4, 6, device=x.device).copy_(x),),
    "embedding": lambda x: (torch.nn.functional.embedding(torch.tensor([3, 1]).to(x.device), x),),
    "empty": lambda x: (x[:0] + 1, torch.cat([x[:0], x])),
}


@pytest.mark.parametrize("case", CASES)
def test_operator_as_on_the_cpu(case):
    for expected, got in zip(CASES[case](X), CASES[case](X.refdev()), strict=True):
        assert got.device.type == "refdev"
        torch.testing.assert_close(got.cpu(), expected)


def test_values_reach_the_host():
    x = X.refdev()
    assert x[2, 3].item() == X[2, 3].item()
    assert torch.equal(x, x.clone())
    assert not torch.equal(x, x + 1)
    assert str(x).startswith("tensor(")


def test_copy_is_of_the_value_at_its_launch():
    host = torch.ones(1000)
    on_device = host.to("refdev", non_blocking=True)
    host.zero_()
    assert on_device.sum().item() == 1000
    step = torch.tensor(2.0)
    product = on_device * step
    step.zero_()
    assert product.sum().item() == 2000


def test_memory_is_not_reused_while_a_kernel_reads_it():
    refdevice.configure(queue_depth=0)
    total = torch.zeros(512, device="refdev")
    for value in range(200):
        part = torch.full((512,), float(value), device="refdev")
        total += part
        del part
    assert total[0].item() == sum(range(200))


def test_resize_keeps_what_was_there():
    x = X.refdev().flatten()
    x.resize_(100)
    assert torch.equal(x[:24].cpu(), X.flatten())
    x.untyped_storage().resize_(1000)
    assert torch.equal(x[:24].cpu(), X.flatten())


def test_between_devices():
    x = X.to("refdev:0")
    y = (x * 3).to("refdev:1")
    assert y.device == torch.device("refdev:1")
    torch.testing.assert_close((y + 1).cpu(), X * 3 + 1)


def test_tensors_of_two_devices_are_refused():
    with pytest.raises(RuntimeError, match="two devices"):
        X.to("refdev:0") + X.to("refdev:1")
    with pytest.raises(RuntimeError, match="expects all tensors on the device"):
        X.refdev() + X


def test_wrong_shapes_are_refused_at_once():
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        X.refdev() @ X.refdev()


def test_error_in_a_queued_kernel_shows_at_the_next_wait():
    table, index = X.refdev(), torch.tensor([99]).refdev()
    table.index_select(0, index)
    with pytest.raises((RuntimeError, IndexError), match="out of range"):
        torch.refdev.synchronize()
    torch.refdev.synchronize()


def test_random_numbers_are_the_devices_own():
    torch.manual_seed(5)
    first = (torch.rand(8, device="refdev"), torch.nn.functional.dropout(torch.ones(64).refdev()))
    torch.manual_seed(5)
    torch.rand(100)  # the host draws, the device does not notice
    second = (torch.rand(8, device="refdev"), torch.nn.functional.dropout(torch.ones(64).refdev()))
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one.cpu(), other.cpu())
    state = torch.refdev.get_rng_state()
    drawn = torch.randn(4, device="refdev").cpu()
    torch.refdev.set_rng_state(state)
    assert torch.equal(torch.randn(4, device="refdev").cpu(), drawn)


def test_dropout_scales_what_it_keeps():
    x = torch.ones(4000).refdev().requires_grad_()
    y = torch.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    kept = y.detach().cpu()
    assert kept.unique().tolist() == [0.0, pytest.approx(4 / 3)]
    assert 0.70 < (kept > 0).float().mean() < 0.80
    assert torch.equal(x.grad.cpu(), kept)


def test_a_checkpoint_computes_the_same_gradients():
    layer, inputs = torch.nn.Linear(6, 3).to("refdev"), X.to("refdev")
    layer(inputs).sum().backward()
    assert layer.weight.grad is not None
    expected = layer.weight.grad.clone()
    layer.zero_grad()
    checkpoint(layer, inputs, use_reentrant=False).sum().backward()
    torch.testing.assert_close(layer.weight.grad, expected)


def test_an_operator_without_a_kernel_is_named():
    cell: Any = torch.nn.LSTMCell(4, 4)
    cell = cell.refdev()
    with pytest.raises(NotImplementedError, match="refdev: no kernel for aten::_thnn_fused_lstm"):
        cell(X[:, :4].refdev())
