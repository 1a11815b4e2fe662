// The event route of the profiler: it records an event before and after each operator and asks for
// the time between them later. Copy: all of it, less what is marked; `elapsed` is in microseconds.
#include "profiler_stubs.h"

#include <array>
#include <atomic>
#include <chrono> // reference only
#include <exception> // reference only
#include <mutex>
#include <stdexcept> // reference only
#include <thread> // reference only

#include <torch/csrc/profiler/stubs/base.h>

#include "clock.h"
#include "config.h"
#include "device.h"
#include "event.h"

namespace refdev {

namespace {

using torch::profiler::impl::ProfilerVoidEventStub;

thread_local ElapsedStreams last_elapsed;
thread_local EventTimes last_times;

// The first event of each device whose time is asked for after a recording: the origin of the times
// of all others. A device that tells only the time between two events can do the same.
struct References {
  // Called when an event is recorded: what is asked for next is another recording.
  void renew() {
    stale.store(true, std::memory_order_relaxed);
  }

  const MarkState& of(const ProfilerVoidEventStub& event) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (stale.exchange(false)) {
      first.fill(nullptr);
    }
    auto& one = first.at(static_cast<const MarkState*>(event.get())->stream->device());
    if (one == nullptr) {
      one = event;
    }
    return *static_cast<const MarkState*>(one.get());
  }

 private:
  std::atomic<bool> stale{true};
  std::mutex mutex;
  std::array<ProfilerVoidEventStub, kDevices> first;
};
References references;

// Reference only {
const std::thread::id first_thread = std::this_thread::get_id();

// Whether a backend with a mistake records no event here.
bool forgets_event() {
  static std::atomic<bool> failed{false};
  const auto config = refdev::config();
  if (config->has("events_end") && std::uncaught_exceptions() > 0) {
    failed = true; // torch records the event behind an operator that raised while the exception passes
  }
  if (failed) {
    return true;
  }
  return config->has("no_events") || (config->has("threads") && std::this_thread::get_id() != first_thread);
}

// What a backend with a mistake does where the time between two events is asked for.
void err_in_elapsed(const Config& config) {
  if (config.has("elapsed_throws")) {
    throw std::runtime_error("refdev: the event is not ready");
  }
  if (config.has("elapsed_slow")) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

double in_unit(double us, const std::string& unit) {
  return unit == "ms" ? us / 1e3 : unit == "ns" ? us * 1e3 : us;
}
// Reference only }

struct Stubs final : torch::profiler::impl::ProfilerStubs {
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event, int64_t* cpu_ns) const override {
    const int index = current_device();
    if (device != nullptr) {
      *device = static_cast<c10::DeviceIndex>(index);
    }
    if (cpu_ns != nullptr) {
      *cpu_ns = now_ns();
    }
    // Reference only {
    if (forgets_event()) {
      return;
    }
    // Reference only }
    *event = current_stream(index).record();
    references.renew();
  }

  // Microseconds. The profiler asks long after the records, so waiting costs nothing as a rule.
  float elapsed(const ProfilerVoidEventStub* first, const ProfilerVoidEventStub* second) const override {
    const auto& from = *static_cast<const MarkState*>(first->get());
    const auto& to = *static_cast<const MarkState*>(second->get());
    // Reference only {
    const auto config = refdev::config();
    err_in_elapsed(*config);
    const int device = config->has("device_index") ? kDevices : from.stream->device();
    last_elapsed = {device, from.stream->id(), to.stream->id()};
    // Reference only }
    // Vendor: last_elapsed = {from.stream->device(), from.stream->id(), to.stream->id()};
    Stream::synchronize(from);
    Stream::synchronize(to);
    const double us = static_cast<double>(reported_elapsed_ns(from, to)) / 1e3; // reference only
    // Vendor: const double us = static_cast<double>(exact_elapsed_ns(from, to)) / 1e3;
    const MarkState& reference = references.of(*first);
    last_times = {event_time_ns(reference, from), event_time_ns(reference, to)};
    // Reference only {
    if (config->has("times_unit")) {
      last_times = {last_times.first_ns / 1000, last_times.second_ns / 1000};
    }
    return static_cast<float>(in_unit(us, config->elapsed_unit));
    // Reference only }
    // Vendor: return static_cast<float>(us);
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

EventTimes event_times() {
  return last_times;
}

void register_profiler_stubs() {
  static Stubs stubs;
  torch::profiler::impl::registerPrivateUse1Methods(&stubs);
}

} // namespace refdev
