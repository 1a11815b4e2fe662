// What a tensor of the device knows beyond sizes and strides (c10::BackendMeta), and how torch.save
// keeps it. Copy: all of it, with what your memory's format is; the map holds booleans only.
#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/serialization/pickler_helper.h>
#include <torch/library.h>

namespace refdev {

namespace {

constexpr const char* kTiled = "refdev_tiled";

// Whether the memory is laid out in tiles, as matrix units want it. The played device does not look.
struct Format final : c10::BackendMeta {
  explicit Format(bool tiled) : tiled(tiled) {}

  // For tensors that are made of this one and own their memory's description.
  c10::intrusive_ptr<c10::BackendMeta> clone(const c10::intrusive_ptr<c10::BackendMeta>&) const override {
    return c10::make_intrusive<Format>(tiled);
  }

  const bool tiled;
};

bool is_tiled(const at::Tensor& self) {
  const auto* format = dynamic_cast<Format*>(self.unsafeGetTensorImpl()->get_backend_meta());
  return format != nullptr && format->tiled;
}

void set_tiled(const at::Tensor& self, bool tiled) {
  self.unsafeGetTensorImpl()->set_backend_meta(c10::make_intrusive<Format>(tiled));
}

using Saved = std::unordered_map<std::string, bool>;

void save(const at::Tensor& tensor, Saved& saved) {
  if (is_tiled(tensor)) { // only what is not the default
    saved[kTiled] = true;
  }
}

void load(const at::Tensor& tensor, Saved& saved) {
  if (const auto found = saved.find(kTiled); found != saved.end()) {
    set_tiled(tensor, found->second);
  }
}

[[maybe_unused]] const bool format_is_saved =
    (torch::jit::TensorBackendMetaRegistry(c10::DeviceType::PrivateUse1, &save, &load), true);

TORCH_LIBRARY(refdev, m) {
  m.def("is_tiled(Tensor self) -> bool", &is_tiled);
  m.def("set_tiled(Tensor self, bool tiled) -> ()", &set_tiled);
}

} // namespace

} // namespace refdev
