#pragma once

#include <cstdint>

namespace refdev {

void register_profiler_stubs();

// Where the events of the calling thread's last ProfilerStubs::elapsed() were recorded.
struct ElapsedStreams {
  int device = -1; // none was asked for yet
  int first = -1;
  int second = -1;
};
ElapsedStreams elapsed_streams();

// When the device executed these two events: ns after a reference event of the same device, which
// stays the same while a profiler reads its results.
struct EventTimes {
  int64_t first_ns = 0;
  int64_t second_ns = 0;
};
EventTimes event_times();

} // namespace refdev
