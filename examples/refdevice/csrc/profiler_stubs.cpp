// The event route of the profiler: it records an event before and after each operator and asks for
// the time between them later.
#include "profilers.h"

#include <torch/csrc/profiler/stubs/base.h>

#include "clock.h"
#include "config.h"
#include "device.h"
#include "event.h"

namespace refdev {

namespace {

using torch::profiler::impl::ProfilerVoidEventStub;

thread_local ElapsedStreams last_elapsed;

struct Stubs final : torch::profiler::impl::ProfilerStubs {
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event, int64_t* cpu_ns) const override {
    const int index = current_device();
    if (device != nullptr) {
      *device = static_cast<c10::DeviceIndex>(index);
    }
    if (cpu_ns != nullptr) {
      *cpu_ns = now_ns();
    }
    *event = current_stream(index).record();
  }

  // Microseconds. The profiler asks long after the records, so waiting costs nothing as a rule.
  float elapsed(const ProfilerVoidEventStub* first, const ProfilerVoidEventStub* second) const override {
    const auto& from = *static_cast<const MarkState*>(first->get());
    const auto& to = *static_cast<const MarkState*>(second->get());
    last_elapsed = {from.stream->device(), from.stream->id(), to.stream->id()};
    Stream::synchronize(from);
    Stream::synchronize(to);
    const double us = static_cast<double>(reported_elapsed_ns(from, to)) / 1e3;
    return static_cast<float>(config()->elapsed_unit == "ms" ? us / 1e3 : us);
  }

  // Marks and ranges are for a vendor's own tool; there is none here.
  void mark(const char*) const override {}
  void rangePush(const char*) const override {}
  void rangePop() const override {}

  bool enabled() const override {
    return true;
  }
  void onEachDevice(std::function<void(int)> run) const override {
    for (int device = 0; device < kDevices; ++device) {
      run(device);
    }
  }
  void synchronize() const override {
    synchronize_device(current_device());
  }
};

} // namespace

ElapsedStreams elapsed_streams() {
  return last_elapsed;
}

void register_profiler_stubs() {
  static Stubs stubs;
  torch::profiler::impl::registerPrivateUse1Methods(&stubs);
}

} // namespace refdev
