// The operator that is open, as the profiler numbers it. Copy it if your own traces need `External id`;
// recordings by events do without.
#include "external_id.h"

#include <atomic>
#include <libkineto.h>
#include <memory>
#include <vector>

namespace refdev {

namespace {

struct Open {
  int profile; // ids of a profile that has ended meanwhile are stale
  std::vector<int64_t> ids;
};
thread_local Open open_operators{};
std::atomic<int> profiles{0};
std::atomic<bool> recording{false};

std::vector<int64_t>& ids_of_this_thread() {
  if (open_operators.profile != profiles) {
    open_operators = {profiles, {}};
  }
  return open_operators.ids;
}

// The profiler tells child profilers the number of each operator at its start, on its thread, also
// when it records with events (ProfilerStubs) and not with Kineto's device activities. This one
// only listens: it has no activities, no span and no device, so the trace is as without it.
class Listener : public libkineto::IActivityProfilerSession {
 public:
  void start() override {
    ++profiles;
    recording = true;
  }
  void stop() override {
    recording = false;
  }
  std::vector<std::string> errors() override {
    return {};
  }
  void processTrace(libkineto::ActivityLogger&) override {}
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override {
    return nullptr;
  }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override {
    return {};
  }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override {
    return nullptr;
  }
  void pushCorrelationId(uint64_t id) override {
    ids_of_this_thread().push_back(static_cast<int64_t>(id));
  }
  void popCorrelationId() override {
    auto& ids = ids_of_this_thread();
    if (!ids.empty()) { // an operator that began before the profile ends in it
      ids.pop_back();
    }
  }
};

class ListenerFactory : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override {
    return name_;
  }
  const std::set<libkineto::ActivityType>& availableActivities() const override {
    return none_;
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      const std::set<libkineto::ActivityType>&,
      const libkineto::Config&) override {
    return std::make_unique<Listener>();
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      int64_t,
      int64_t,
      const std::set<libkineto::ActivityType>&,
      const libkineto::Config&) override {
    return std::make_unique<Listener>();
  }

 private:
  const std::string name_ = "refdev_external_id";
  const std::set<libkineto::ActivityType> none_{};
};

} // namespace

int64_t current_external_id() {
  if (!recording || ids_of_this_thread().empty()) {
    return 0;
  }
  return ids_of_this_thread().back();
}

void listen_for_external_ids() {
  libkineto::api().registerProfilerFactory([] { return std::make_unique<ListenerFactory>(); });
}

} // namespace refdev
