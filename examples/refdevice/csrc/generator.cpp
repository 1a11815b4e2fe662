// Random numbers: torch.Generator(device="refdev"), and the default one of each device.
// Copy: the class, and its two hooks (hooks.cpp). Replace: the CPU generator behind it, by a seed
// and an offset that your kernels take (Philox), so that nothing has to wait.
#include "generator.h"

#include <Python.h> // for the interpreter's lock alone

#include <array>
#include <cstring>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>

#include "device.h"
#include "random.h"

namespace refdev {

namespace {

// Queued kernels draw as it was when they were launched, so whoever reads or changes the state waits.
// A kernel may need the interpreter to let go of a tensor: its lock is released meanwhile.
void wait_for_kernels(int device) {
  PyThreadState* held = PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr;
  synchronize_device(device);
  if (held != nullptr) {
    PyEval_RestoreThread(held);
  }
}

class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  DeviceGenerator(int device, at::Generator drawn)
      : GeneratorImpl(
            c10::Device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(device)),
            c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        drawn_(std::move(drawn)) {}

  void set_current_seed(uint64_t seed) override {
    settled().set_current_seed(seed);
  }
  uint64_t current_seed() const override {
    return drawn_.current_seed();
  }
  uint64_t seed() override {
    return settled().seed();
  }
  void set_offset(uint64_t) override {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "refdev: the device's generator has no offset");
  }
  uint64_t get_offset() const override {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "refdev: the device's generator has no offset");
  }
  void set_state(const c10::TensorImpl& state) override {
    settled().unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return settled().unsafeGetGeneratorImpl()->get_state();
  }
  const at::Generator& drawn() const {
    return drawn_;
  }

 private:
  DeviceGenerator* clone_impl() const override {
    return new DeviceGenerator(device().index(), settled().clone());
  }
  at::Generator settled() const {
    wait_for_kernels(device().index());
    return drawn_;
  }

  at::Generator drawn_;
};

} // namespace

at::Generator new_generator(int device) {
  return at::make_generator<DeviceGenerator>(device, at::detail::createCPUGenerator());
}

const at::Generator& generator(int device) {
  static auto* all = new std::array<at::Generator, kDevices>{new_generator(0), new_generator(1)};
  return all->at(device);
}

at::Generator drawn_from(const at::Generator& generator) {
  const auto* ours = dynamic_cast<const DeviceGenerator*>(generator.unsafeGetGeneratorImpl());
  TORCH_CHECK(ours != nullptr, "refdev: expected a generator of the device, not one of ", generator.device());
  return ours->drawn();
}

void manual_seed(int device, uint64_t seed) {
  at::Generator random = generator(device);
  std::lock_guard lock(random.mutex());
  random.set_current_seed(seed);
}

std::string rng_state(int device) {
  at::Generator random = generator(device);
  std::lock_guard lock(random.mutex());
  const at::Tensor state = random.get_state();
  return {static_cast<const char*>(state.const_data_ptr()), state.nbytes()};
}

void set_rng_state(int device, const std::string& state) {
  at::Generator random = generator(device);
  std::lock_guard lock(random.mutex());
  at::Tensor tensor = at::detail::empty_cpu({static_cast<int64_t>(state.size())}, at::kByte);
  std::memcpy(tensor.mutable_data_ptr(), state.data(), state.size());
  random.set_state(tensor);
}

} // namespace refdev
