// The shapes of results, from torch's meta kernels. Since most of those are written in Python and
// take longer than a launch may, each answer is kept: the first time with new shapes is slow, as it
// is on backends that compile a kernel then. Copy it only where kernels do not know their shapes.
#include <mutex>
#include <string>
#include <unordered_map>

#include <ATen/EmptyTensor.h>

#include "operators.h"

namespace refdev {

namespace {

using Shapes = std::optional<torch::jit::Stack>;

// All that a result's shape can depend on, spelled as bytes.
class Key {
 public:
  Key(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
    add(&op.schema());
    for (const auto& value : arguments) {
      add_value(value);
    }
  }
  const std::string& bytes() const {
    return bytes_;
  }

 private:
  template <typename T>
  void add(const T& plain) {
    bytes_.append(reinterpret_cast<const char*>(&plain), sizeof(plain));
  }

  void add_list(at::IntArrayRef numbers) {
    add(numbers.size());
    bytes_.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int64_t));
  }

  void add_tensor(const at::Tensor& tensor) {
    add(tensor.defined());
    if (tensor.defined()) {
      add(tensor.scalar_type());
      add(tensor.is_cpu());
      add(tensor.unsafeGetTensorImpl()->is_wrapped_number());
      add_list(tensor.sizes());
      add_list(tensor.strides());
    }
  }

  void add_value(const c10::IValue& value) {
    bytes_ += value.tagKind();
    if (value.isTensor()) {
      add_tensor(value.toTensor());
    } else if (value.isInt()) {
      add(value.toInt());
    } else if (value.isDouble()) {
      add(value.toDouble());
    } else if (value.isComplexDouble()) {
      add(value.toComplexDouble());
    } else if (value.isBool()) {
      add(value.toBool());
    } else if (value.isString()) {
      bytes_ += value.toStringRef();
    } else if (value.isList()) {
      add(value.toListRef().size());
      for (const auto& each : value.toListRef()) {
        add_value(each);
      }
    }
  }

  std::string bytes_;
};

at::Tensor on_meta(const at::Tensor& tensor) {
  // A host's scalar stays what it is: it takes part in the promotion of types and in nothing else.
  if (!tensor.defined() || (tensor.is_cpu() && tensor.dim() == 0)) {
    return tensor;
  }
  return at::detail::empty_strided_meta(tensor.sizes(), tensor.strides(), tensor.scalar_type());
}

Shapes ask_torch(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  torch::jit::Stack values;
  for (const auto& value : arguments) {
    values.push_back(value.isDevice() ? c10::IValue(c10::Device(c10::kMeta)) : map_tensors(value, on_meta));
  }
  try {
    op.callBoxed(&values);
  } catch (const std::exception&) {
    // No shape without values, or a user's mistake: the computation itself will say which.
    return std::nullopt;
  }
  return values;
}

} // namespace

Shapes result_shapes(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  static std::mutex mutex;
  static auto* known = new std::unordered_map<std::string, Shapes>;
  const Key key(op, arguments);
  {
    std::lock_guard lock(mutex);
    const auto found = known->find(key.bytes());
    if (found != known->end()) {
      return found->second;
    }
  }
  Shapes shapes = ask_torch(op, arguments); // unlocked: it may need Python's lock
  std::lock_guard lock(mutex);
  return known->emplace(key.bytes(), std::move(shapes)).first->second;
}

} // namespace refdev
