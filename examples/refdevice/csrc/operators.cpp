// The operators without which no tensor of the device exists: allocation, views, copies, and those
// for which the boxed fallback would be wrong. Copy: the list at the end. Replace: copies and kernels.
#include "operators.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <ATen/EmptyTensor.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "allocator.h"
#include "device.h"
#include "generator.h"
#include "launch.h"

namespace refdev {

namespace {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

Stream& stream_of(const at::Tensor& tensor) {
  return current_stream(tensor.device().index());
}

int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.numel() * static_cast<int64_t>(tensor.element_size());
}

// A contiguous CPU tensor of the same shape. Its memory is not the CPU allocator's: a stream's
// worker may free it, where the profiler would not see that.
at::Tensor host_memory(const at::Tensor& like) {
  auto buffer = std::make_shared<std::vector<char>>(bytes_of(like));
  return at::from_blob(
      buffer->data(), like.sizes(), [buffer](void*) {}, like.options().device(c10::kCPU).requires_grad(false));
}

at::Tensor empty(
    at::IntArrayRef sizes,
    std::optional<at::ScalarType> type,
    std::optional<at::Layout>,
    std::optional<at::Device> device,
    std::optional<bool>,
    std::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(sizes, allocator(), kKeys, c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(
    at::IntArrayRef sizes,
    at::IntArrayRef strides,
    std::optional<at::ScalarType> type,
    std::optional<at::Layout>,
    std::optional<at::Device> device,
    std::optional<bool>) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_strided_generic(sizes, strides, allocator(), kKeys, c10::dtype_or_default(type));
}

void copy_to_device(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  static const auto* name = interned("Memcpy HtoD");
  const Internal internal;
  Stream& stream = stream_of(to);
  // A blocking copy reads the host's memory itself, since the host waits for it.
  launch(
      stream,
      {name, Kind::memcpy, bytes_of(to)},
      [source = non_blocking ? staged(from) : from.detach(), target = host_view(to)] { target.copy_(source); });
  if (!non_blocking) {
    synchronize(stream);
  }
}

// Always waits, as a copy to memory that is not pinned does: the host may read at once.
void copy_to_host(const at::Tensor& from, const at::Tensor& to) {
  static const auto* name = interned("Memcpy DtoH");
  const Internal internal;
  Stream& stream = stream_of(from);
  launch(stream, {name, Kind::memcpy, bytes_of(from)}, [source = host_view(from), target = to.detach()] {
    target.copy_(source);
  });
  synchronize(stream);
}

void copy_on_device(const at::Tensor& from, const at::Tensor& to) {
  static const auto* memcpy_name = interned("Memcpy DtoD");
  static const auto* kernel_name = interned("refdev_copy_kernel");
  const Internal internal;
  Stream& stream = stream_of(from);
  Stream& target_stream = stream_of(to);
  // Between devices the copy runs on the source's stream, in the order of both.
  const bool crosses = &stream != &target_stream;
  if (crosses) {
    stream.wait_for(target_stream.tail());
  }
  const bool plain =
      from.dtype() == to.dtype() && from.sizes() == to.sizes() && from.is_contiguous() && to.is_contiguous();
  const Work work = plain ? Work{memcpy_name, Kind::memcpy, bytes_of(to)}
                          : Work{kernel_name, Kind::kernel, bytes_of(from) + bytes_of(to)};
  launch(stream, work, [source = host_view(from), target = host_view(to)] { target.copy_(source); });
  if (crosses) {
    target_stream.wait_for(stream.tail());
  }
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  if (to.numel() == 0) {
    return to;
  }
  if (from.is_cpu()) {
    copy_to_device(from, to, non_blocking);
  } else if (to.is_cpu()) {
    copy_to_host(from, to);
  } else {
    copy_on_device(from, to);
  }
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  to.resize_(from.sizes());
  return copy_from(from, to, false);
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  const at::Tensor value = host_memory(self);
  copy_to_host(self, value);
  return at::native::_local_scalar_dense_cpu(value);
}

at::Tensor& zero_(at::Tensor& self) {
  static const auto* name = interned("Memset");
  const Internal internal;
  launch(stream_of(self), {name, Kind::memset, bytes_of(self)}, [target = host_view(self)] { target.zero_(); });
  return self;
}

// Written by hand because the CPU's kernel draws from the host's generator. An example of what an
// operator of a backend looks like: allocate, launch, return.
std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p, std::optional<bool> train) {
  static const auto* name = interned("refdev_native_dropout_kernel");
  at::Tensor output = at::empty_like(input);
  at::Tensor mask = at::empty_like(input, input.options().dtype(at::kBool));
  const double keep = train.value_or(true) ? 1 - p : 1;
  const Internal internal;
  launch(
      stream_of(input),
      {name, Kind::kernel, bytes_of(input) + bytes_of(output) + bytes_of(mask)},
      [in = host_view(input),
       out = host_view(output),
       kept = host_view(mask),
       keep,
       random = drawn_from(generator(input.device().index()))] {
        kept.bernoulli_(keep, random);
        out.copy_(in).mul_(kept).mul_(keep == 0 ? 0 : 1 / keep);
      });
  return {output, mask};
}

// Memory is reused only after every computation that was given it, see allocator.cpp.
void record_stream(at::Tensor&, c10::Stream) {}

} // namespace

at::Tensor allocate(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type, c10::Device device) {
  const c10::DeviceGuard guard(device);
  return at::detail::empty_strided_generic(sizes, strides, allocator(), kKeys, type);
}

at::Tensor with_promotion_of(const at::Tensor& original, const at::Tensor& copy) {
  if (original.unsafeGetTensorImpl()->is_wrapped_number()) {
    copy.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return copy;
}

at::Tensor staged(const at::Tensor& tensor) {
  const at::Tensor copy = host_memory(tensor).copy_(tensor);
  return with_promotion_of(tensor, copy);
}

void resize_storage(const c10::Storage& storage, size_t bytes) {
  const auto whole = [](const c10::Storage& of, size_t length) {
    at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(of), kKeys, caffe2::TypeMeta::Make<uint8_t>());
    tensor.unsafeGetTensorImpl()->set_sizes_contiguous(static_cast<int64_t>(length));
    return tensor;
  };
  const size_t kept = std::min(bytes, storage.nbytes());
  at::Tensor grown = allocate({static_cast<int64_t>(bytes)}, {1}, at::kByte, storage.device());
  if (kept > 0) {
    copy_on_device(whole(storage, kept), whole(grown.storage(), kept));
  }
  auto* impl = storage.unsafeGetStorageImpl();
  impl->set_data_ptr_noswap(std::move(grown.storage().unsafeGetStorageImpl()->_mutable_data_ptr_no_checks()));
  impl->set_nbytes(bytes);
}

const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef sizes, std::optional<at::MemoryFormat> format) {
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(sizes);
  if (format.has_value()) {
    impl->empty_tensor_restride(*format);
  }
  const size_t needed = (self.numel() + self.storage_offset()) * self.element_size();
  if (self.numel() > 0 && needed > self.storage().nbytes()) {
    resize_storage(self.storage(), needed);
  }
  return self;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", TORCH_FN(empty));
  m.impl("empty_strided", TORCH_FN(empty_strided));
  m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  m.impl("view", TORCH_FN(at::native::view));
  m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  m.impl("unfold", TORCH_FN(at::native::unfold));
  m.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  m.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
  m.impl("set_.source_Storage", static_cast<at::Tensor& (*)(at::Tensor&, at::Storage)>(at::native::set_));
  m.impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(at::native::set_storage_cpu_));
  m.impl("resize_", TORCH_FN(resize_));
  m.impl("_copy_from", TORCH_FN(copy_from));
  m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  m.impl("_local_scalar_dense", TORCH_FN(local_scalar_dense));
  m.impl("zero_", TORCH_FN(zero_));
  m.impl("native_dropout", TORCH_FN(native_dropout));
  m.impl("record_stream", TORCH_FN(record_stream));
}

} // namespace refdev
