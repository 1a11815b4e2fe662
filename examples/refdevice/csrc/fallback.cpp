// Everything else: any operator with a CPU kernel becomes one kernel of the device. Replace: it,
// operator by operator, with kernels of your own (TORCH_LIBRARY_IMPL, see operators.cpp). Keep the
// three steps: know the result's shape, allocate it, launch and return at once.
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <torch/library.h>

#include "allocator.h"
#include "device.h"
#include "generator.h"
#include "launch.h"
#include "operators.h"

namespace refdev {

namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;

// What never changes about an operator.
struct Traits {
  const std::string* kernel;
  std::string name; // "aten::addmm"
  std::vector<int> written; // for each return the argument it is, or -1 if it is new
  bool makes = false; // some return is new
  bool out = false; // has arguments that are resized to fit
  bool plain = true; // all returns are tensors or lists of them
  bool indexes = false; // takes indices from the host
  int generator = -1; // the argument that is one
};

std::string kernel_name(const std::string& qualified) {
  std::string name = qualified.substr(qualified.rfind(':') + 1);
  name.erase(0, name.find_first_not_of('_'));
  name.erase(name.find_last_not_of('_') + 1);
  return "refdev_" + name + "_kernel";
}

Traits make_traits(const c10::FunctionSchema& schema) {
  Traits traits;
  traits.kernel = interned(kernel_name(schema.name()));
  traits.name = schema.name();
  const auto& arguments = schema.arguments();
  for (const auto& result : schema.returns()) {
    int found = -1;
    for (size_t i = 0; result.alias_info() && i < arguments.size(); ++i) {
      const auto* alias = arguments[i].alias_info();
      if (alias && alias->isWrite() && alias->beforeSets() == result.alias_info()->beforeSets()) {
        found = static_cast<int>(i);
      }
    }
    TORCH_CHECK(found >= 0 || !result.alias_info(), "refdev: no view operator ", schema.name());
    traits.written.push_back(found);
    traits.makes = traits.makes || found < 0;
    traits.plain = traits.plain &&
        (result.type()->isSubtypeOf(*c10::TensorType::get()) ||
         result.type()->isSubtypeOf(*c10::ListType::ofTensors()));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    traits.out = traits.out || arguments[i].is_out();
    if (arguments[i].type()->str() == "Generator?") {
      traits.generator = static_cast<int>(i);
    }
  }
  traits.indexes = schema.name().find("index") != std::string::npos;
  return traits;
}

const Traits& traits_of(const c10::OperatorHandle& op) {
  static std::mutex mutex;
  static auto* all = new std::unordered_map<c10::OperatorName, Traits>;
  std::lock_guard lock(mutex);
  auto found = all->find(op.operator_name());
  if (found == all->end()) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU), "refdev: no kernel for ", op.operator_name());
    found = all->emplace(op.operator_name(), make_traits(op.schema())).first;
  }
  return found->second;
}

// Sees each defined tensor of some values.
template <typename See>
void each_tensor(c10::ArrayRef<c10::IValue> values, const See& see) {
  for (const auto& value : values) {
    map_tensors(value, [&](const at::Tensor& tensor) {
      if (tensor.defined()) {
        see(tensor);
      }
      return tensor;
    });
  }
}

c10::Device device_of(c10::ArrayRef<c10::IValue> arguments) {
  std::optional<c10::Device> device;
  each_tensor(arguments, [&](const at::Tensor& tensor) {
    if (tensor.device().type() == kType) {
      TORCH_CHECK(
          !device || *device == tensor.device(), "refdev: tensors on two devices, ", *device, " and ", tensor.device());
      device = tensor.device();
    }
  });
  for (const auto& value : arguments) {
    if (!device && value.isDevice() && value.toDevice().has_index()) {
      device = value.toDevice();
    }
  }
  return device.value_or(c10::Device(kType, static_cast<c10::DeviceIndex>(current_device())));
}

// One call of an operator.
struct Call {
  const c10::OperatorHandle& op;
  const Traits& traits;
  std::vector<c10::IValue> arguments;
  c10::Device device;

  Stream& stream() const {
    return current_stream(device.index());
  }
  bool is_new(size_t result) const {
    return traits.written[result] < 0;
  }
};

// The arguments as the CPU's kernel gets them, over the same memory.
torch::jit::Stack host_arguments(const Call& call) {
  torch::jit::Stack result;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const auto& value = call.arguments[i];
    if (value.isDevice()) {
      result.emplace_back(c10::Device(c10::kCPU));
    } else if (value.isNone() && static_cast<int>(i) == call.traits.generator) {
      result.emplace_back(drawn_from(generator(call.device.index())));
    } else if (value.isGenerator()) {
      result.emplace_back(drawn_from(value.toGenerator()));
    } else {
      result.push_back(map_tensors(value, [&](const at::Tensor& tensor) {
        if (!tensor.defined() || tensor.device().type() == kType) {
          return tensor.defined() ? host_view(tensor) : tensor;
        }
        TORCH_CHECK(
            tensor.dim() == 0 || call.traits.indexes,
            "refdev: ", call.traits.name, " expects all tensors on the device, one is on ", tensor.device());
        return staged(tensor);
      }));
    }
  }
  return result;
}

// The results: arguments that are written, and device tensors like `values` for the new ones. Calls
// made(tensor, value) for each of those.
template <typename Made>
torch::jit::Stack results_like(const Call& call, const torch::jit::Stack& values, const Made& made) {
  torch::jit::Stack results;
  for (size_t i = 0; i < call.traits.written.size(); ++i) {
    if (!call.is_new(i)) {
      results.push_back(call.arguments[call.traits.written[i]]);
      continue;
    }
    results.push_back(map_tensors(values[i], [&](const at::Tensor& value) {
      if (!value.defined()) {
        return value; // a gradient that nobody asked for
      }
      at::Tensor tensor = allocate(value.sizes(), value.strides(), value.scalar_type(), call.device);
      made(tensor, value);
      return tensor;
    }));
  }
  return results;
}

// Multiplications and additions that a kernel cannot avoid; the rest is bound by memory.
double flops_of(const Call& call, const torch::jit::Stack& results) {
  static const std::unordered_map<std::string, int> left{
      {"aten::mm", 0}, {"aten::bmm", 0}, {"aten::addmm", 1}, {"aten::baddbmm", 1}, {"aten::addmm_", 1}};
  const auto found = left.find(call.traits.name);
  if (found == left.end()) {
    return 0;
  }
  return 2.0 * static_cast<double>(call.arguments[found->second].toTensor().size(-1)) *
      static_cast<double>(results[0].toTensor().numel());
}

Work work_of(const Call& call, const torch::jit::Stack& results) {
  Work work{call.traits.kernel};
  const auto add = [&](const at::Tensor& tensor) {
    work.bytes += tensor.numel() * static_cast<int64_t>(tensor.element_size());
  };
  each_tensor(call.arguments, add);
  each_tensor(results, add);
  work.flops = flops_of(call, results);
  return work;
}

// The results depend on values (nonzero) or are values (equal), so the host has to wait for them.
torch::jit::Stack run_waiting(const Call& call) {
  synchronize(call.stream());
  torch::jit::Stack computed = host_arguments(call);
  call.op.callBoxed(&computed);
  torch::jit::Stack results = results_like(
      call, computed, [](const at::Tensor& tensor, const at::Tensor& value) { host_view(tensor).copy_(value); });
  launch(call.stream(), work_of(call, results), [] {});
  synchronize(call.stream());
  return results;
}

// The results' shapes are known, so the computation can wait for its turn and the host goes on.
torch::jit::Stack run_queued(const Call& call, const torch::jit::Stack& shapes) {
  std::vector<at::Tensor> targets;
  torch::jit::Stack results = results_like(call, shapes, [&](const at::Tensor& tensor, const at::Tensor&) {
    targets.push_back(host_view(tensor));
  });
  launch(
      call.stream(),
      work_of(call, results),
      [op = call.op, written = call.traits.written, targets, values = host_arguments(call)]() mutable {
        const Internal internal;
        op.callBoxed(&values);
        size_t next = 0;
        for (size_t i = 0; i < values.size(); ++i) {
          if (written[i] < 0) {
            each_tensor({values[i]}, [&](const at::Tensor& value) { targets.at(next++).copy_(value); });
          }
        }
      });
  return results;
}

// `out=` tensors take the result's shape.
void fit_outputs(const Call& call, const torch::jit::Stack& shapes) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!call.is_new(i) && shapes[i].isTensor()) {
      const at::Tensor& target = call.arguments[call.traits.written[i]].toTensor();
      if (target.sizes() != shapes[i].toTensor().sizes()) {
        resize_(target, shapes[i].toTensor().sizes());
      }
    }
  }
}

} // namespace

void run_boxed(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  auto arguments = torch::jit::pop(*stack, op.schema().arguments().size());
  const c10::Device device = device_of(arguments);
  const Call call{op, traits_of(op), std::move(arguments), device};
  const Internal internal;

  // What is only written in place has its shape; an error in it shows at the next synchronization.
  std::optional<torch::jit::Stack> shapes(std::in_place);
  if (call.traits.makes || call.traits.out) {
    shapes = call.traits.plain ? result_shapes(op, call.arguments) : std::nullopt;
  }
  if (shapes) {
    fit_outputs(call, *shapes);
  }
  const torch::jit::Stack results = shapes ? run_queued(call, *shapes) : run_waiting(call);
  stack->insert(stack->end(), results.begin(), results.end());
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_boxed>());
}

// A fallback comes after torch's compositions. Where those would make several operators and kernels
// out of one, the operator itself is registered, as a backend with a kernel for it does.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  static const std::unordered_set<std::string> kernels{
      "aten::native_layer_norm", "aten::native_group_norm", "aten::embedding"};
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op || name.name.rfind("aten::", 0) != 0) {
      continue;
    }
    // Functional forms of structured operators, composed of `empty` and the out form otherwise.
    const bool structured = op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional);
    const bool foreach =
        name.name.rfind("aten::_foreach_", 0) == 0 && name.overload_name.find("out") == std::string::npos;
    if (structured || foreach || (kernels.count(name.name) != 0 && name.overload_name.empty())) {
      const std::string spelled = name.name + (name.overload_name.empty() ? "" : "." + name.overload_name);
      m.impl(spelled.c_str(), torch::CppFunction::makeFromBoxedFunction<&run_boxed>());
    }
  }
}

} // namespace refdev
