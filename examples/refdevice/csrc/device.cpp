// Devices and their streams as a driver's runtime has them. Replace: all bodies, by calls of yours.
#include "device.h"

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>

namespace refdev {

namespace {
using Streams = std::array<std::array<Stream*, kStreams>, kDevices>;

// Never destroyed: threads and tensors may outlive the destructors of static objects.
Streams& streams() {
  static Streams* all = [] {
    auto* made = new Streams;
    for (int device = 0; device < kDevices; ++device) {
      for (int id = 0; id < kStreams; ++id) {
        (*made)[device][id] = new Stream(device, id);
      }
    }
    return made;
  }();
  return *all;
}

thread_local int chosen_device = 0;
thread_local std::array<int, kDevices> chosen_stream{};
std::array<std::atomic<int>, kDevices> pool_turn{};

void require_device(int device) {
  if (device < 0 || device >= kDevices) {
    throw std::out_of_range("refdev: no device " + std::to_string(device));
  }
}
} // namespace

Stream& stream(int device, int id) {
  require_device(device);
  if (id < 0 || id >= kStreams) {
    throw std::out_of_range("refdev: no stream " + std::to_string(id));
  }
  return *streams()[device][id];
}

Stream& next_pool_stream(int device) {
  require_device(device);
  return stream(device, 1 + pool_turn[device]++ % (kStreams - 1));
}

int current_device() {
  return chosen_device;
}

void set_current_device(int device) {
  require_device(device);
  chosen_device = device;
}

Stream& current_stream(int device) {
  require_device(device);
  return stream(device, chosen_stream[device]);
}

void set_current_stream(const Stream& stream) {
  chosen_stream[stream.device()] = stream.id();
}

void synchronize_device(int device) {
  require_device(device);
  for (Stream* each : streams()[device]) {
    each->synchronize();
  }
}

void stop_all() {
  for (auto& device : streams()) {
    for (Stream* each : device) {
      each->stop();
    }
  }
}

} // namespace refdev
