#pragma once

#include "stream.h"

namespace refdev {

// The exact time between two marks, ns. Both must be done.
int64_t exact_elapsed_ns(const MarkState& first, const MarkState& second);

// The same as a profiler gets it: of the configured kind, in steps of the configured resolution. ns.
int64_t reported_elapsed_ns(const MarkState& first, const MarkState& second);

// When the device executed an event, by its clock: ns after a reference, in the same steps. Negative
// before it.
int64_t event_time_ns(const MarkState& reference, const MarkState& event);

} // namespace refdev
