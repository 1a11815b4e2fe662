// The native route of the profiler: kernels, copies and runtime calls as the device measured them.
// A backend with it needs no ProfilerStubs; users get a timeline from torch.profiler as it is.
// Copy: the session and its profiler. Replace: kineto_log, by your tracing library.
#include "kineto_profiler.h"

#include <array>
#include <atomic>
#include <libkineto.h>
#include <map>
#include <memory>
#include <unordered_set>

#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include "activity_log.h"
#include "config.h"
#include "device.h"

namespace refdev {

namespace {

using libkineto::ActivityType;
using libkineto::GenericTraceActivity;

ActivityType type_of(Kind kind) {
  switch (kind) {
    case Kind::memcpy:
      return ActivityType::GPU_MEMCPY;
    case Kind::memset:
      return ActivityType::GPU_MEMSET;
    default:
      return ActivityType::CONCURRENT_KERNEL;
  }
}

std::atomic<bool> records_activities{true};
std::atomic<bool> records_counters{false};

class Session final : public libkineto::IActivityProfilerSession {
 public:
  void start() override {
    kineto_log().start();
    status_ = libkineto::TraceStatus::RECORDING;
  }
  void stop() override {
    kineto_log().stop();
    status_ = libkineto::TraceStatus::PROCESSING;
  }
  std::vector<std::string> errors() override {
    return {};
  }

  void processTrace(libkineto::ActivityLogger& logger) override {
    processTrace(logger, [](int32_t) { return nullptr; }, 0, 0);
  }

  // The activities have to live as long as the trace, so they go into the buffer that Kineto takes.
  void processTrace(
      libkineto::ActivityLogger& logger,
      libkineto::getLinkedActivityCallback operator_of,
      int64_t start_ns,
      int64_t end_ns) override {
    buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
    buffer_->span = libkineto::TraceSpan(start_ns, end_ns, "refdev");
    buffer_->gpuOpCount = 0;
    const auto content = kineto_log().copy();
    std::unordered_set<int64_t> launches;
    for (const Activity& each : content.activities) {
      launches.insert(each.correlation);
    }
    for (const HostCall& call : content.calls) {
      auto& activity = add(ActivityType::PRIVATEUSE1_RUNTIME, call.name, call.start_ns, call.end_ns, call.correlation);
      activity.device = libkineto::processId();
      activity.resource = activity.threadId = call.thread;
      describe(activity, call.external_id, operator_of);
      activity.flow.start = 1;
      if (launches.count(call.correlation) == 0) {
        activity.flow.type = 0; // a wait: no arrow leads from it
      }
    }
    const auto config = refdev::config();
    const int64_t off = config->has("kineto_clock") ? 3'000'000 : 0;
    const int64_t apart = config->has("no_correlation") ? 1'000'000 : 0;
    for (const Activity& each : content.activities) {
      if (config->has("kineto_loses") && each.correlation % 2 == 0) {
        continue;
      }
      const int64_t length = (each.end_ns - each.start_ns) / (config->has("kineto_unit") ? 1000 : 1);
      const int64_t behind = each.start_ns - content.activities.front().start_ns;
      const int64_t start = each.start_ns + off + (config->has("kineto_ticks") ? behind / 2 : 0);
      auto& activity = add(type_of(each.kind), *each.name, start, start + length, each.correlation + apart);
      activity.device = each.device;
      activity.resource = each.stream;
      describe(activity, apart != 0 ? 0 : each.external_id, operator_of);
      activity.addMetadata("device", each.device);
      activity.addMetadata("stream", each.stream);
      if (each.kind != Kind::kernel) {
        activity.addMetadata("bytes", each.bytes);
      }
      activity.flow.start = 0;
      ++buffer_->gpuOpCount;
    }
    if (records_counters) {
      add_queue_depths(content.activities);
    }
    for (const auto& activity : buffer_->activities) {
      activity->log(logger);
    }
  }

  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override {
    return nullptr; // only one could be named, and Kineto labels all devices anyway
  }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override {
    std::vector<libkineto::ResourceInfo> streams;
    for (int device = 0; device < kDevices; ++device) {
      for (int id = 0; id < kStreams; ++id) {
        streams.push_back({id, id, device, "stream " + std::to_string(id)});
      }
    }
    return streams;
  }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override {
    return std::move(buffer_);
  }
  std::string getDeviceProperties() override {
    std::string list;
    for (int device = 0; device < kDevices; ++device) {
      list += (device == 0 ? "" : ",") + ("{\"id\": " + std::to_string(device)) +
          ", \"name\": \"refdev\", \"totalGlobalMem\": " + std::to_string(int64_t{4} << 30) +
          ", \"numStreams\": " + std::to_string(kStreams) + "}";
    }
    return list;
  }

 private:
  // A counter of each device: launches that it has not finished. torch 2.13 has one type of counters,
  // named after another device; its values have names.
  void add_queue_depths(const std::vector<Activity>& launches) {
    std::map<std::pair<int, int64_t>, int64_t> changes;
    for (const Activity& each : launches) {
      ++changes[{each.device, each.launch_ns}];
      --changes[{each.device, each.end_ns}];
    }
    std::array<int64_t, kDevices> depth{};
    for (const auto& [when, change] : changes) {
      const auto [device, time_ns] = when;
      depth.at(device) += change;
      buffer_->emplace_activity(buffer_->span, ActivityType::MTIA_COUNTERS, "Queue");
      auto& counter = *buffer_->activities.back();
      counter.startTime = counter.endTime = time_ns;
      counter.device = device;
      counter.addCounterValue("launches", static_cast<double>(depth.at(device)));
    }
  }

  GenericTraceActivity& add(
      ActivityType type,
      const std::string& name,
      int64_t start_ns,
      int64_t end_ns,
      int64_t correlation) {
    buffer_->emplace_activity(buffer_->span, type, name);
    auto& activity = *buffer_->activities.back();
    activity.startTime = start_ns;
    activity.endTime = end_ns;
    activity.id = static_cast<int32_t>(correlation);
    activity.flow.id = static_cast<uint32_t>(correlation);
    activity.flow.type = libkineto::kLinkAsyncCpuGpu;
    activity.addMetadata("correlation", correlation);
    return activity;
  }

  static void describe(
      GenericTraceActivity& activity,
      int64_t external_id,
      const libkineto::getLinkedActivityCallback& operator_of) {
    if (external_id != 0) {
      activity.addMetadata("External id", external_id);
      activity.linked = operator_of(static_cast<int32_t>(external_id));
    }
  }

  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
};

class Profiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override {
    return name_;
  }
  const std::set<ActivityType>& availableActivities() const override {
    return activities_;
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      const std::set<ActivityType>& wanted,
      const libkineto::Config&) override {
    const bool records = records_activities && wanted.count(ActivityType::PRIVATEUSE1_RUNTIME) != 0;
    return records ? std::make_unique<Session>() : nullptr;
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      int64_t,
      int64_t,
      const std::set<ActivityType>& wanted,
      const libkineto::Config& config) override {
    return configure(wanted, config);
  }

 private:
  const std::string name_ = "refdev";
  const std::set<ActivityType> activities_{
      ActivityType::PRIVATEUSE1_RUNTIME,
      ActivityType::CONCURRENT_KERNEL,
      ActivityType::GPU_MEMCPY,
      ActivityType::GPU_MEMSET};
};

} // namespace

// A backend that always has it writes REGISTER_PRIVATEUSE1_PROFILER(Profiler) at namespace scope.
void register_kineto_profiler() {
  static const torch::profiler::impl::RegisterPrivateUse1Profiler<Profiler> registered;
}

// Past torch's registry, as backends do that are older than it (torch 2.12): torch does not know that
// there is a profiler.
void register_with_libkineto() {
  libkineto::api().registerProfilerFactory([] { return std::make_unique<Profiler>(); });
}

// A profiler that is there and records nothing, as with a vendor's tracing library that is missing.
void record_no_activities() {
  records_activities = false;
}

// A profiler with counters as well, as dynamic plugins have them.
void record_counters() {
  records_counters = true;
}

} // namespace refdev
