"""`torch.autocast("refdev")`: types by operator, as on other devices."""

import pytest
import refdevice  # noqa: F401
import torch

X = torch.linspace(-1, 1, 32).reshape(4, 8)


@pytest.mark.parametrize("type", [torch.float16, torch.bfloat16])
def test_products_are_in_the_lower_precision_and_sums_are_not(type):
    assert type in torch.refdev.get_amp_supported_dtype()
    x = X.to("refdev")
    with torch.autocast("refdev", dtype=type):
        product = x @ x.t()
        assert product.dtype == type
        assert product.relu().dtype == type
        assert product.softmax(-1).dtype == torch.float32
        assert (x.double() @ x.double().t()).dtype == torch.float64
    assert (x @ x.t()).dtype == torch.float32
    torch.testing.assert_close(product.float().cpu(), X @ X.t(), rtol=0.02, atol=0.02)


def test_gradients_are_those_of_the_weights_type():
    layer = torch.nn.Linear(8, 4).to("refdev")
    with torch.autocast("refdev", dtype=torch.bfloat16):
        loss = layer(X.to("refdev")).float().pow(2).sum()
    loss.backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.dtype == torch.float32


def test_a_scaler_steps():
    layer = torch.nn.Linear(8, 4).to("refdev")
    before = layer.weight.detach().cpu()
    scaler, optimizer = torch.amp.GradScaler("refdev"), torch.optim.SGD(layer.parameters(), 0.1)
    with torch.autocast("refdev", dtype=torch.float16):
        loss = layer(X.to("refdev")).float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(before, layer.weight.detach().cpu())
