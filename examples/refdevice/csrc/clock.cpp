// The host's clock. Copy: now_ns. Not for a vendor: wait_until, which plays the device's time.
#include "clock.h"

#include <ctime>
#include <thread>

namespace refdev {

namespace {
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kSpin = 80'000; // longer than a usual wake-up of a sleeping thread
} // namespace

int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

void wait_until(int64_t time_ns) {
  for (int64_t left = time_ns - now_ns(); left > 0; left = time_ns - now_ns()) {
    if (left > kSpin) {
      const timespec until{(time_ns - kSpin) / kSecond, (time_ns - kSpin) % kSecond};
      clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, nullptr);
    } else {
      std::this_thread::yield();
    }
  }
}

} // namespace refdev
