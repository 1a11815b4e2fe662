#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/record_function.h>

namespace refdev {

// Runs any operator that has a CPU kernel as one kernel of the device. Registered for all operators
// that torch does not compose of others, see fallback.cpp.
void run_boxed(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// The shapes of an operator's new tensors, as meta tensors, without computing them; nothing if they
// cannot be known without the values. Takes the operator's arguments.
std::optional<torch::jit::Stack> result_shapes(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments);

// Applies change to each tensor of a value, in lists too.
template <typename Change>
c10::IValue map_tensors(const c10::IValue& value, const Change& change) {
  if (value.isTensor()) {
    return change(value.toTensor());
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(change(tensor));
    }
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      list.push_back(tensor ? std::optional(change(*tensor)) : tensor);
    }
    return list;
  }
  return value;
}

// A tensor of the device whose memory is yet to be written.
at::Tensor allocate(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type, c10::Device device);

// A copy of a CPU tensor, for a computation that runs when the host may have changed the original.
at::Tensor staged(const at::Tensor& tensor);

// The number in `tensor * 2.5` arrives as a tensor that must not decide the result's type; its copies
// have to say so too.
at::Tensor with_promotion_of(const at::Tensor& original, const at::Tensor& copy);

void resize_storage(const c10::Storage& storage, size_t bytes);
const at::Tensor& resize_(
    const at::Tensor& self,
    at::IntArrayRef sizes,
    std::optional<at::MemoryFormat> format = std::nullopt);

// Operators that serve the backend and not the user: not recorded by the profiler, no autograd.
struct Internal {
  at::RecordFunctionGuard unrecorded{false};
  at::AutoDispatchBelowADInplaceOrView below_autograd;
};

} // namespace refdev
