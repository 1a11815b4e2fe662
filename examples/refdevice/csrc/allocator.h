#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>
#include <c10/core/CachingDeviceAllocator.h>

namespace refdev {

c10::DeviceAllocator* allocator();

// A CPU tensor over the memory of a device tensor: what a computation on a stream's worker gets.
// It keeps the memory alive, and that alone, so the host may free the tensor while it is in use.
at::Tensor host_view(const at::Tensor& tensor);

} // namespace refdev
