// Devices, streams and events as torch's generic code asks for them: torch.Stream, torch.Event,
// torch.accelerator, the autograd engine and `with torch.device(...)`. Copy: all of it; it calls the runtime.
#include <stdexcept> // reference only

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "activity_log.h"
#include "config.h"
#include "device.h"
#include "event.h"
#include "launch.h"

namespace refdev {

namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;

c10::Device device(int index) {
  return {kType, static_cast<c10::DeviceIndex>(index)};
}

// "refdev" without an index means the current device.
int index_of(c10::Device device) {
  return device.has_index() ? device.index() : current_device();
}

c10::Stream wrap(const Stream& stream) {
  return c10::Stream(c10::Stream::UNSAFE, device(stream.device()), stream.id());
}

Stream& unwrap(const c10::Stream& wrapped) {
  return stream(wrapped.device_index(), static_cast<int>(wrapped.id()));
}

MarkState* recorded(void* event) {
  return event == nullptr ? nullptr : static_cast<Mark*>(event)->get();
}

// Reference only {
// What a query says: the truth, unless the backend is to have a mistake.
bool err_in_query(bool done) {
  const auto config = refdev::config();
  return (done || config->has("query_done")) && !config->has("query_never");
}

// Whether the host waits for the device: it does, unless the backend is to have a mistake.
bool waits() {
  const auto config = refdev::config();
  if (config->has("wait_throws")) {
    throw std::runtime_error("refdev: this backend does not support waiting for its device");
  }
  return !config->has("wait_returns");
}
// Reference only }

struct Guard final : public c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override {
    return kType;
  }
  c10::Device exchangeDevice(c10::Device next) const override {
    const int before = current_device();
    set_current_device(index_of(next));
    return device(before);
  }
  c10::Device getDevice() const override {
    return device(current_device());
  }
  void setDevice(c10::Device next) const override {
    set_current_device(index_of(next));
  }
  void uncheckedSetDevice(c10::Device next) const noexcept override {
    set_current_device(index_of(next));
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return kDevices;
  }

  c10::Stream getStream(c10::Device of) const override {
    return wrap(current_stream(index_of(of)));
  }
  c10::Stream getDefaultStream(c10::Device of) const override {
    return wrap(stream(index_of(of), 0));
  }
  c10::Stream getStreamFromGlobalPool(c10::Device of, bool) const override {
    return wrap(next_pool_stream(index_of(of)));
  }
  c10::Stream getNewStream(c10::Device of, int) const override {
    return wrap(next_pool_stream(index_of(of)));
  }
  c10::Stream exchangeStream(c10::Stream next) const override {
    const c10::Stream before = getStream(next.device());
    set_current_stream(unwrap(next));
    return before;
  }
  bool queryStream(const c10::Stream& of) const override {
    return err_in_query(Stream::done(*unwrap(of).tail())); // reference only
    // Vendor: return Stream::done(*unwrap(of).tail());
  }
  void synchronizeStream(const c10::Stream& of) const override {
    if (!waits()) { return; } // reference only
    synchronize(unwrap(of));
  }
  void synchronizeDevice(const c10::DeviceIndex index) const override {
    CallScope call("refdevDeviceSynchronize", next_correlation());
    if (!waits()) { return; } // reference only
    synchronize_device(index);
  }

  void record(void** event, const c10::Stream& on, const c10::DeviceIndex, const c10::EventFlag) const override {
    CallScope call("refdevEventRecord", next_correlation());
    if (*event == nullptr) {
      *event = new Mark;
    }
    *static_cast<Mark*>(*event) = unwrap(on).record();
  }
  void block(void* event, const c10::Stream& on) const override {
    if (config()->has("wait_ignored")) { return; } // reference only
    if (recorded(event) != nullptr) {
      CallScope call("refdevStreamWaitEvent", next_correlation());
      unwrap(on).wait_for(*static_cast<Mark*>(event));
    }
  }
  bool queryEvent(void* event) const override {
    return recorded(event) == nullptr || err_in_query(Stream::done(*recorded(event))); // reference only
    // Vendor: return recorded(event) == nullptr || Stream::done(*recorded(event));
  }
  void synchronizeEvent(void* event) const override {
    if (!waits()) { return; } // reference only
    if (recorded(event) != nullptr) {
      CallScope call("refdevEventSynchronize", next_correlation());
      Stream::synchronize(*recorded(event));
    }
  }
  double elapsedTime(void* first, void* second, const c10::DeviceIndex) const override {
    TORCH_CHECK(recorded(first) != nullptr && recorded(second) != nullptr, "refdev: both events must be recorded");
    TORCH_CHECK(Stream::done(*recorded(first)) && Stream::done(*recorded(second)), "refdev: both events must be completed");
    const double ms = static_cast<double>(exact_elapsed_ns(*recorded(first), *recorded(second))) / 1e6; // as torch wants it
    if (config()->has("event_unit")) { return ms * 1e3; } // reference only
    return ms;
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Mark*>(event);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

} // namespace

} // namespace refdev
