#pragma once

#include <cstdint>

namespace refdev {

// Nanoseconds since the epoch, CLOCK_REALTIME: the clock that the profiler converts its own
// timestamps to, so that device times and host operators compare without a conversion.
int64_t now_ns();

// Blocks the calling thread until now_ns() >= time_ns. Sleeps for the most part and spins for the
// last microseconds, because a sleeping thread wakes up tens of microseconds late.
void wait_until(int64_t time_ns);

} // namespace refdev
