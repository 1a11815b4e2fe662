// The extension module refdevice._C: what Python needs beyond torch's own streams, events and tensors.
// Copy: manual_seed to launch_log_stop, elapsed_streams and event_times. Not for a vendor: Config, truth.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "activity_log.h"
#include "config.h"
#include "device.h"
#include "external_id.h"
#include "kineto_profiler.h"
#include "profiler_stubs.h"
#include "random.h"

namespace py = pybind11;

namespace {

template <typename Field>
py::list column(const std::vector<refdev::Activity>& activities, Field field) {
  py::list list(activities.size());
  for (size_t i = 0; i < activities.size(); ++i) {
    list[i] = field(activities[i]);
  }
  return list;
}

py::dict columns(const std::vector<refdev::Activity>& activities) {
  using refdev::Activity;
  static const char* const kinds[] = {"kernel", "memcpy", "memset"};
  py::dict result;
  result["kernel"] = column(activities, [](const Activity& a) { return py::str(*a.name); });
  result["external_id"] = column(activities, [](const Activity& a) { return py::int_(a.external_id); });
  result["launch_ns"] = column(activities, [](const Activity& a) { return py::int_(a.launch_ns); });
  result["start_ns"] = column(activities, [](const Activity& a) { return py::int_(a.start_ns); });
  result["end_ns"] = column(activities, [](const Activity& a) { return py::int_(a.end_ns); });
  result["stream"] = column(activities, [](const Activity& a) { return py::int_(a.stream); });
  result["device"] = column(activities, [](const Activity& a) { return py::int_(a.device); });
  result["kind"] = column(activities, [](const Activity& a) { return py::str(kinds[static_cast<int>(a.kind)]); });
  result["bytes"] = column(activities, [](const Activity& a) { return py::int_(a.bytes); });
  return result;
}

} // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  using refdev::Config;
  py::class_<Config>(m, "Config")
      .def_readwrite("launch_latency_ns", &Config::launch_latency_ns)
      .def_readwrite("launch_jitter_ns", &Config::launch_jitter_ns)
      .def_readwrite("kernel_gap_ns", &Config::kernel_gap_ns)
      .def_readwrite("event_cost_ns", &Config::event_cost_ns)
      .def_readwrite("queue_depth", &Config::queue_depth)
      .def_readwrite("kernel_fixed_ns", &Config::kernel_fixed_ns)
      .def_readwrite("bandwidth_gb_per_s", &Config::bandwidth_gb_per_s)
      .def_readwrite("throughput_gflop_per_s", &Config::throughput_gflop_per_s)
      .def_readwrite("speed", &Config::speed)
      .def_readwrite("kernels_per_launch", &Config::kernels_per_launch)
      .def_readwrite("jitter", &Config::jitter)
      .def_readwrite("seed", &Config::seed)
      .def_readwrite("elapsed_kind", &Config::elapsed_kind)
      .def_readwrite("elapsed_resolution_ns", &Config::elapsed_resolution_ns)
      .def_readwrite("clock_drift_ppm", &Config::clock_drift_ppm)
      .def_readwrite("elapsed_unit", &Config::elapsed_unit)
      .def_readwrite("fault", &Config::fault);
  m.def("config", [] { return Config(*refdev::config()); });
  m.def("set_config", &refdev::set_config);

  m.def("device_count", [] { return refdev::kDevices; });
  m.def("current_device", &refdev::current_device);
  m.def("set_device", &refdev::set_current_device);

  // The lock of the interpreter is released wherever a worker may be waited for.
  m.def("stop", &refdev::stop_all, py::call_guard<py::gil_scoped_release>());
  m.def("manual_seed", &refdev::manual_seed, py::call_guard<py::gil_scoped_release>());
  m.def("rng_state", [](int device) { return py::bytes(refdev::rng_state(device)); });
  m.def("set_rng_state", &refdev::set_rng_state, py::call_guard<py::gil_scoped_release>());

  m.def("truth_start", [] {
    refdev::lateness(true);
    refdev::truth_log().start();
  });
  m.def("truth_stop", [] { refdev::truth_log().stop(); });
  m.def("truth_columns", [] { return columns(refdev::truth_log().copy().activities); });
  m.def("launch_log_start", [] { refdev::launch_log().start(); });
  m.def("launch_log_stop", [] {
    refdev::launch_log().stop();
    const auto launches = refdev::launch_log().copy().activities;
    return py::make_tuple(
        column(launches, [](const auto& a) { return py::int_(a.launch_ns); }),
        column(launches, [](const auto& a) { return py::int_(a.thread); }),
        column(launches, [](const auto& a) { return py::int_(a.device); }),
        column(launches, [](const auto& a) { return py::int_(a.stream); }));
  });
  m.def("lateness", [] {
    const auto late = refdev::lateness(false);
    return py::make_tuple(late.count, late.total_ns, late.max_ns);
  });

  m.def("register_profiler_stubs", &refdev::register_profiler_stubs);
  m.def("elapsed_streams", [] {
    const auto streams = refdev::elapsed_streams();
    return py::make_tuple(streams.device, streams.first, streams.second);
  });
  m.def("event_times", [] {
    const auto times = refdev::event_times();
    return py::make_tuple(times.first_ns, times.second_ns);
  });
  m.def("register_kineto_profiler", &refdev::register_kineto_profiler);
  m.def("register_with_libkineto", &refdev::register_with_libkineto);
  m.def("record_no_activities", &refdev::record_no_activities);
  m.def("record_counters", &refdev::record_counters);
  m.def("listen_for_external_ids", &refdev::listen_for_external_ids);
}
