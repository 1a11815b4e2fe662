"""Storages of the device, and what `torch.save` keeps of a tensor."""

import io

import pytest
import refdevice  # noqa: F401
import torch


def test_a_storage_moves_to_the_device_and_back():
    values = torch.arange(4.0)
    storage = values.untyped_storage().refdev("refdev:1")
    assert storage.device == torch.device("refdev:1")
    assert storage.is_refdev
    assert not values.untyped_storage().is_refdev
    assert torch.equal(torch.tensor([], device="refdev:1").set_(storage).cpu(), values)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_a_type_without_kernels_is_refused():
    with pytest.raises(RuntimeError, match=r"torch\.quint8 dtype is not supported"):
        torch.TypedStorage([1, 2], dtype=torch.quint8).refdev()


def saved_and_loaded(values, **options):
    file = io.BytesIO()
    torch.save(values, file)
    file.seek(0)
    return torch.load(file, **options)


def test_the_format_of_a_tensor_is_saved():
    tiled, plain = torch.ones(3).to("refdev"), torch.ones(3).to("refdev")
    torch.refdev.set_tiled(tiled)
    loaded = saved_and_loaded({"tiled": tiled, "plain": plain})
    assert {name: torch.refdev.is_tiled(loaded[name]) for name in loaded} == {
        "tiled": True,
        "plain": False,
    }
    assert torch.equal(loaded["tiled"].cpu(), torch.ones(3))
    assert torch.refdev.is_tiled(tiled.detach())


def test_a_tensor_with_a_format_loads_without_the_device():
    tiled = torch.ones(3).to("refdev")
    torch.refdev.set_tiled(tiled)
    assert torch.equal(saved_and_loaded(tiled, map_location="cpu"), torch.ones(3))
