// The logs of launches and runtime calls. A vendor's tracing library has them; copy the launch log alone
// (start_launch_log in ../refdevice/device.py), four numbers for each launch.
#include "activity_log.h"

#include <atomic>
#include <sys/syscall.h>
#include <unistd.h>
#include <unordered_set>

#include "clock.h"
#include "external_id.h"

namespace refdev {

int system_thread() {
  thread_local const int id = static_cast<int>(syscall(SYS_gettid));
  return id;
}

ActivityLog& truth_log() {
  static auto* log = new ActivityLog;
  return *log;
}

ActivityLog& kineto_log() {
  static auto* log = new ActivityLog;
  return *log;
}

ActivityLog& launch_log() {
  static auto* log = new ActivityLog;
  return *log;
}

void ActivityLog::start() {
  std::lock_guard lock(mutex_);
  content_ = Content{};
  on_ = true;
}

void ActivityLog::stop() {
  std::lock_guard lock(mutex_);
  on_ = false;
}

ActivityLog::Content ActivityLog::copy() {
  std::lock_guard lock(mutex_);
  return content_;
}

void log_activity(const Activity& activity) {
  for (ActivityLog* log : {&truth_log(), &kineto_log(), &launch_log()}) {
    std::lock_guard lock(log->mutex_);
    if (log->on_) {
      log->content_.activities.push_back(activity);
    }
  }
}

void delay_activities(int device, int stream, int count, int64_t later_ns) {
  for (ActivityLog* log : {&truth_log(), &kineto_log()}) {
    std::lock_guard lock(log->mutex_);
    auto& rows = log->content_.activities;
    int left = count;
    for (auto row = rows.rbegin(); left > 0 && row != rows.rend(); ++row) {
      if (row->device == device && row->stream == stream) {
        row->start_ns += later_ns;
        row->end_ns += later_ns;
        --left;
      }
    }
  }
}

void log_call(const HostCall& call) {
  ActivityLog& log = kineto_log(); // the ground truth is about the device
  std::lock_guard lock(log.mutex_);
  if (log.on_) {
    log.content_.calls.push_back(call);
  }
}

int64_t next_correlation() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

const std::string* interned(const std::string& name) {
  static std::mutex mutex;
  static auto* names = new std::unordered_set<std::string>; // its elements never move
  std::lock_guard lock(mutex);
  return &*names->insert(name).first;
}

CallScope::CallScope(const char* name, int64_t correlation)
    : call_{name, system_thread(), current_external_id(), correlation, now_ns(), 0} {}

CallScope::~CallScope() {
  call_.end_ns = now_ns();
  log_call(call_);
}

} // namespace refdev
