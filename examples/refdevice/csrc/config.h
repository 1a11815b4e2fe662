#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace refdev {

// How the simulated accelerator behaves. A real backend has no such file: its hardware decides.
// README.md has the table for users.
struct Config {
  // Scheduling, ns.
  int64_t launch_latency_ns = 6000; // from the host's launch to the earliest start on the device
  int64_t launch_jitter_ns = 0; // a uniform [0, this] more, anew for each launch
  int64_t kernel_gap_ns = 0; // between a kernel and what ran before it on its stream
  int64_t event_cost_ns = 300; // the time that recording an event takes on its stream
  int64_t queue_depth = 1024; // unfinished launches of a stream beyond which the host waits; 0: none

  // Cost of a kernel: (fixed + bytes / bandwidth + flops / throughput) / speed * (1 + jitter * noise).
  // The defaults are slow enough for one core of a host to keep up with the real computation.
  int64_t kernel_fixed_ns = 3000;
  double bandwidth_gb_per_s = 8.0;
  double throughput_gflop_per_s = 20.0;
  double speed = 1.0;
  int64_t kernels_per_launch = 1; // as an operator has that prepares and cleans up: equal parts
  double jitter = 0.0; // noise is normal with standard deviation 1, cut at 3
  int64_t seed = 0; // of the noise; every configure() restarts it

  // What ProfilerStubs::elapsed says, so that other backends can be played.
  std::string elapsed_kind = "event"; // "event", "kernel_sum" or "host"
  int64_t elapsed_resolution_ns = 1000;
  double clock_drift_ppm = 0.0; // by how much the device's clock runs faster than the host's
  std::string elapsed_unit = "us"; // "us" is right, "ms" is the mistake that many backends make, "ns" a rarer one
  std::string fault; // a mistake of other backends, for the conformance kit: README.md has their names; "": none

  int64_t epoch = 0; // counts set_config(), set by it
  bool host_synchronous() const {
    return elapsed_kind == "host";
  }
  bool has(const char* mistake) const {
    return fault == mistake;
  }
};

std::shared_ptr<const Config> config();

// Throws std::invalid_argument, naming the field, and then changes nothing.
void set_config(Config next);

} // namespace refdev
