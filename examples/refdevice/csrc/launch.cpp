// The one way to the device. Replace: the runtime's launch. Not for a vendor: the cost model.
#include "launch.h"

#include <c10/core/InferenceMode.h>

#include <cmath>
#include <utility>

#include "config.h"
#include "external_id.h"

namespace refdev {

namespace {
int64_t duration_ns(const Work& work) {
  const auto config = refdev::config();
  // A gigabyte per second is a byte per nanosecond, a gigaflop per second a flop per nanosecond.
  const double cost = static_cast<double>(config->kernel_fixed_ns) +
      static_cast<double>(work.bytes) / config->bandwidth_gb_per_s +
      work.flops / config->throughput_gflop_per_s;
  return static_cast<int64_t>(std::llround(cost / config->speed));
}

const char* runtime_call(Kind kind) {
  switch (kind) {
    case Kind::memcpy:
      return "refdevMemcpyAsync";
    case Kind::memset:
      return "refdevMemsetAsync";
    default:
      return "refdevLaunchKernel";
  }
}

// Only inference may write what inference made, and the stream's thread has a mode of its own.
std::function<void()> in_callers_mode(std::function<void()> compute) {
  if (!c10::InferenceMode::is_enabled()) {
    return compute;
  }
  return [compute = std::move(compute)] {
    const c10::InferenceMode guard;
    compute();
  };
}

void launch_one(Stream& stream, const Work& work, int64_t duration_ns, std::function<void()> compute) {
  const int64_t correlation = next_correlation();
  CallScope call(runtime_call(work.kind), correlation);
  const Span span = stream.launch(duration_ns, in_callers_mode(std::move(compute)));
  log_activity(
      {work.name,
       work.kind,
       stream.device(),
       stream.id(),
       current_external_id(),
       correlation,
       work.bytes,
       span.launch_ns,
       span.start_ns,
       span.end_ns});
}
} // namespace

void launch(Stream& stream, const Work& work, std::function<void()> compute) {
  const int64_t parts = config()->kernels_per_launch;
  for (int64_t part = 1; part < parts; ++part) {
    launch_one(stream, work, duration_ns(work) / parts, [] {});
  }
  launch_one(stream, work, duration_ns(work) / parts, std::move(compute));
  if (config()->has("operator_waits") && work.name->find("softmax") != std::string::npos) {
    stream.synchronize();
  }
}

void synchronize(Stream& stream) {
  CallScope call("refdevStreamSynchronize", next_correlation());
  stream.synchronize();
}

} // namespace refdev
