#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace refdev {

// The calling thread as the system numbers it.
int system_thread();

enum class Kind : uint8_t { kernel, memcpy, memset };

// What a device did. Times are ns on the device's clock.
struct Activity {
  const std::string* name; // interned, lives for ever
  Kind kind;
  int device;
  int stream;
  int64_t external_id; // of the operator that launched it, 0 without a profiler
  int64_t correlation; // joins it with the host's call
  int64_t bytes;
  int64_t launch_ns; // on the host
  int64_t start_ns;
  int64_t end_ns;
  int thread = system_thread(); // that launched it
};

// A call of the device's runtime on the host.
struct HostCall {
  const char* name;
  int thread; // as the system numbers it
  int64_t external_id;
  int64_t correlation;
  int64_t start_ns;
  int64_t end_ns;
};

// Collects while it is on. Three exist: for the ground truth, for the Kineto profiler, and for
// recordings by events, which may ask when the host launched.
class ActivityLog {
 public:
  struct Content {
    std::vector<Activity> activities;
    std::vector<HostCall> calls;
  };

  void start(); // forgets what was collected before
  void stop();
  Content copy();

 private:
  friend void log_activity(const Activity& activity);
  friend void delay_activities(int device, int stream, int count, int64_t later_ns);
  friend void log_call(const HostCall& call);

  std::mutex mutex_;
  bool on_ = false;
  Content content_;
};

ActivityLog& truth_log();
ActivityLog& kineto_log();
ActivityLog& launch_log();

void log_activity(const Activity& activity);
void log_call(const HostCall& call);
// The last launches of a stream began so much later than they were logged with.
void delay_activities(int device, int stream, int count, int64_t later_ns);

int64_t next_correlation();
const std::string* interned(const std::string& name);

// Adds a HostCall for the time it lives.
class CallScope {
 public:
  CallScope(const char* name, int64_t correlation);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  HostCall call_;
};

} // namespace refdev
