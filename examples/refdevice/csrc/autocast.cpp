// torch.autocast("refdev"): which operators run in the lower precision, and which in float32.
// Copy: both lists, with the operators that your kernels have in each. A backend that includes
// ATen/autocast_mode.h can use its macros and its cache of cast weights instead of run_cast.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "operators.h"

namespace at::autocast {
// Of ATen/autocast_mode.h, whose headers take longer to compile than this backend.
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device_type);
} // namespace at::autocast

namespace refdev {

namespace {

constexpr auto kKey = c10::DispatchKey::AutocastPrivateUse1;


at::Tensor cast(const at::Tensor& tensor, at::ScalarType to) {
  const bool casts = tensor.defined() && tensor.device().type() == c10::DeviceType::PrivateUse1 &&
      tensor.is_floating_point() && tensor.scalar_type() != at::kDouble && tensor.scalar_type() != to;
  return casts ? tensor.to(to) : tensor;
}

// Runs an operator once more, below autocast, with its arguments cast.
void run_cast(const c10::OperatorHandle& op, torch::jit::Stack* stack, at::ScalarType to) {
  const c10::impl::ExcludeDispatchKeyGuard below(c10::DispatchKeySet{kKey});
  for (auto value = stack->end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size());
       value != stack->end();
       ++value) {
    *value = map_tensors(*value, [to](const at::Tensor& tensor) { return cast(tensor, to); });
  }
  op.callBoxed(stack);
}

void run_lower(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  run_cast(op, stack, at::autocast::get_autocast_dtype(c10::DeviceType::PrivateUse1));
}

void run_float(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  run_cast(op, stack, at::kFloat);
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  for (const char* name : {"mm", "bmm", "addmm", "baddbmm", "matmul", "linear", "scaled_dot_product_attention"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_lower>());
  }
  for (const char* name :
       {"softmax.int", "log_softmax.int", "layer_norm", "mse_loss", "cross_entropy_loss", "exp", "log", "sum"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_float>());
  }
}

} // namespace

} // namespace refdev
