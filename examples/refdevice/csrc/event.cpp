// Times of events. Replace: exact_elapsed_ns and event_time_ns, by your driver's. Not for a vendor:
// reported_elapsed_ns, which plays worse clocks.
#include "event.h"

#include <cmath>
#include <stdexcept>

#include "config.h"

namespace refdev {

int64_t exact_elapsed_ns(const MarkState& first, const MarkState& second) {
  if (first.stream->device() != second.stream->device()) {
    throw std::runtime_error("refdev: the events are on two devices, whose clocks do not compare");
  }
  const int64_t elapsed = second.time_ns - first.time_ns;
  const double drift = static_cast<double>(elapsed) * config()->clock_drift_ppm / 1e6;
  return elapsed + static_cast<int64_t>(std::llround(drift));
}

int64_t reported_elapsed_ns(const MarkState& first, const MarkState& second) {
  const auto config = refdev::config();
  const int64_t elapsed = exact_elapsed_ns(first, second);
  const int64_t step = config->elapsed_resolution_ns;
  if (config->elapsed_kind == "kernel_sum") {
    return (second.kernel_sum_ns - first.kernel_sum_ns + step / 2) / step * step;
  }
  return elapsed / step * step;
}

int64_t event_time_ns(const MarkState& reference, const MarkState& event) {
  const int64_t after = exact_elapsed_ns(reference, event);
  const int64_t step = config()->elapsed_resolution_ns;
  return (after - (after % step + step) % step); // the clock's last tick
}

} // namespace refdev
