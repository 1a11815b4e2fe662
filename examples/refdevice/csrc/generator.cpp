#include "generator.h"

#include <array>
#include <cstring>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/EmptyTensor.h>

#include "device.h"
#include "random.h"

namespace refdev {

const at::Generator& generator(int device) {
  static auto* all = new std::array<at::Generator, kDevices>{
      at::detail::createCPUGenerator(), at::detail::createCPUGenerator()};
  return all->at(device);
}

// Queued kernels draw from the generator as it was when they were launched, so each of these waits.
void manual_seed(int device, uint64_t seed) {
  synchronize_device(device);
  at::Generator random = generator(device);
  std::lock_guard lock(random.mutex());
  random.set_current_seed(seed);
}

std::string rng_state(int device) {
  synchronize_device(device);
  at::Generator random = generator(device);
  std::lock_guard lock(random.mutex());
  const at::Tensor state = random.get_state();
  return {static_cast<const char*>(state.const_data_ptr()), state.nbytes()};
}

void set_rng_state(int device, const std::string& state) {
  synchronize_device(device);
  at::Generator random = generator(device);
  std::lock_guard lock(random.mutex());
  at::Tensor tensor = at::detail::empty_cpu({static_cast<int64_t>(state.size())}, at::kByte);
  std::memcpy(tensor.mutable_data_ptr(), state.data(), state.size());
  random.set_state(tensor);
}

} // namespace refdev
