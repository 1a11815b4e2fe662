// How the played device behaves, and its mistakes. Not for a vendor.
#include "config.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <stdexcept>

namespace refdev {

namespace {
std::atomic<std::shared_ptr<const Config>>& current() {
  static auto* value = new std::atomic<std::shared_ptr<const Config>>(std::make_shared<const Config>());
  return *value;
}

// Where each is made: profiler_stubs, guard, stream, launch, allocator, kineto_profiler, refdevice/faults.py.
constexpr std::array kFaults = {
    "",
    "no_events",
    "query_done",
    "query_never",
    "wait_returns",
    "wait_throws",
    "batches",
    "device_index",
    "elapsed_throws",
    "elapsed_slow",
    "backwards",
    "wait_ignored",
    "memory",
    "fork_hangs",
    "threads",
    "event_unit",
    "times_unit",
    "no_correlation",
    "kineto_clock",
    "operator_waits",
    "cpu_fallback",
    "unnamed_streams",
    "no_event_times",
    "no_device",
    "unnamed",
    "no_module",
    "log_unit",
    "log_loses",
    "kineto_unit",
    "kineto_loses",
    "kineto_ticks",
    "errors_pass",
    "events_end"};

void require(bool ok, const char* message) {
  if (!ok) {
    throw std::invalid_argument(message);
  }
}
} // namespace

std::shared_ptr<const Config> config() {
  return current().load();
}

void set_config(Config next) {
  require(next.launch_latency_ns >= 0, "launch_latency_ns must not be negative");
  require(next.launch_jitter_ns >= 0, "launch_jitter_ns must not be negative");
  require(next.kernel_gap_ns >= 0, "kernel_gap_ns must not be negative");
  require(next.event_cost_ns >= 0, "event_cost_ns must not be negative");
  require(next.queue_depth >= 0, "queue_depth must not be negative");
  require(next.kernel_fixed_ns >= 0, "kernel_fixed_ns must not be negative");
  require(next.bandwidth_gb_per_s > 0, "bandwidth_gb_per_s must be positive");
  require(next.throughput_gflop_per_s > 0, "throughput_gflop_per_s must be positive");
  require(next.speed > 0, "speed must be positive");
  require(next.kernels_per_launch >= 1, "kernels_per_launch must be at least 1");
  require(next.jitter >= 0 && next.jitter < 1, "jitter must lie in [0, 1)");
  require(next.elapsed_resolution_ns > 0, "elapsed_resolution_ns must be positive");
  require(
      next.elapsed_kind == "event" || next.elapsed_kind == "kernel_sum" || next.elapsed_kind == "host",
      "elapsed_kind must be 'event', 'kernel_sum' or 'host'");
  require(std::abs(next.clock_drift_ppm) <= 1000, "clock_drift_ppm must lie within 1000");
  require(
      next.elapsed_unit == "us" || next.elapsed_unit == "ms" || next.elapsed_unit == "ns",
      "elapsed_unit must be 'us', 'ms' or 'ns'");
  require(std::find(kFaults.begin(), kFaults.end(), next.fault) != kFaults.end(), "there is no such fault");
  next.epoch = config()->epoch + 1;
  current().store(std::make_shared<const Config>(std::move(next)));
}

} // namespace refdev
