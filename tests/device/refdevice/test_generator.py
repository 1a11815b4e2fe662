"""`torch.Generator(device="refdev")`: random numbers of the device, apart from the host's."""

import pytest
import refdevice  # noqa: F401
import torch


def draws(generator, count=2):
    return [
        torch.randn(5, device=generator.device, generator=generator).cpu() for _ in range(count)
    ]


def test_a_generator_is_on_its_device():
    assert torch.Generator(device="refdev:1").device == torch.device("refdev:1")
    assert torch.Generator(device="refdev").device == torch.device("refdev:0")


def test_the_same_seed_draws_the_same():
    first, second = (torch.Generator(device="refdev").manual_seed(3) for _ in range(2))
    assert first.initial_seed() == 3
    drawn = draws(first)
    assert not torch.equal(*drawn)
    assert all(map(torch.equal, drawn, draws(second)))


def test_a_state_goes_on_from_there():
    generator = torch.Generator(device="refdev:1").manual_seed(3)
    draws(generator)
    state = generator.get_state()
    drawn = draws(generator)
    generator.set_state(state)
    assert all(map(torch.equal, drawn, draws(generator)))


def test_generators_do_not_touch_the_default_ones():
    torch.manual_seed(7)
    here, there = torch.rand(3), torch.rand(3, device="refdev").cpu()
    torch.manual_seed(7)
    draws(torch.Generator(device="refdev").manual_seed(1))
    assert torch.equal(torch.rand(3), here)
    assert torch.equal(torch.rand(3, device="refdev").cpu(), there)


def test_seeding_waits_for_what_was_launched_before():
    generator = torch.Generator(device="refdev").manual_seed(3)
    before = torch.randn(64, device="refdev", generator=generator)
    generator.manual_seed(3)
    assert torch.equal(before.cpu(), torch.randn(64, device="refdev", generator=generator).cpu())


def test_a_generator_of_the_host_is_refused():
    with pytest.raises(RuntimeError, match="expected a generator of the device, not one of cpu"):
        torch.randn(3, device="refdev", generator=torch.Generator())
