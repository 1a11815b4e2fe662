// Device memory. Copy: the reports to the profiler, on the thread that allocates or frees; statistics;
// host_view only where the host can read the memory. Replace: aligned_alloc and free.
#include "allocator.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include <ATen/ops/from_blob.h>

#include "config.h"
#include "device.h"

namespace refdev {

namespace {

constexpr size_t kRound = 512; // as accelerators round, so that freed blocks fit again
constexpr size_t kDeviceBytes = size_t{4} << 30;

size_t rounded(size_t bytes) {
  return (bytes + kRound - 1) / kRound * kRound;
}

// The memory of one device: blocks are kept when they are freed and used again by size.
class Pool {
 public:
  void* take(size_t bytes) {
    only_in_first_process();
    std::lock_guard lock(mutex_);
    auto& free_blocks = free_[bytes];
    if (!free_blocks.empty()) {
      void* block = free_blocks.back();
      free_blocks.pop_back();
      return block;
    }
    void* block = reserved().current + bytes <= kDeviceBytes ? std::aligned_alloc(kRound, bytes) : nullptr;
    if (block == nullptr) {
      return nullptr;
    }
    reserved().increase(bytes);
    return block;
  }

  void give_back(void* block, size_t bytes) {
    std::lock_guard lock(mutex_);
    free_[bytes].push_back(block);
  }

  void trim() {
    std::lock_guard lock(mutex_);
    for (auto& [bytes, blocks] : free_) {
      for (void* block : blocks) {
        std::free(block);
        reserved().decrease(bytes);
      }
    }
    free_.clear();
  }

  // Counts a tensor's memory from its allocation to its release by the host, in bytes.
  void count(int64_t bytes) {
    std::lock_guard lock(mutex_);
    auto& stat = stats_.allocated_bytes[0];
    bytes > 0 ? stat.increase(bytes) : stat.decrease(-bytes);
  }

  c10::CachingDeviceAllocator::DeviceStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }

  template <typename Change>
  void change_stats(Change change) {
    std::lock_guard lock(mutex_);
    change(stats_.allocated_bytes[0]);
    change(reserved());
  }

 private:
  c10::CachingDeviceAllocator::Stat& reserved() {
    return stats_.reserved_bytes[0];
  }

  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> free_;
  c10::CachingDeviceAllocator::DeviceStats stats_;
};

Pool& pool(int device) {
  static auto* pools = new std::array<Pool, kDevices>;
  return pools->at(device);
}

struct Block {
  Block(int device, size_t bytes) : device(device), bytes(rounded(bytes)), memory(pool(device).take(this->bytes)) {}
  ~Block() {
    if (memory != nullptr) {
      pool(device).give_back(memory, bytes);
    }
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const int device;
  const size_t bytes;
  void* const memory;
};

// What a tensor's storage owns. Queued computations share the block and outlive it.
struct Allocation {
  std::shared_ptr<Block> block;
};

// Tells the profiler about each change of the memory in use. It belongs on the thread that
// allocates or frees: the profiler's state is thread-local, and a report from a stream's worker
// would be lost. That is why a free is reported here and not when the block is reused.
void report(const Block& block, int64_t bytes) {
  Pool& owner = pool(block.device);
  owner.count(bytes);
  if (config()->has("memory")) { return; } // reference only
  const auto stats = owner.stats();
  c10::reportMemoryUsageToProfiler(
      block.memory,
      bytes,
      stats.allocated_bytes[0].current,
      stats.reserved_bytes[0].current,
      c10::Device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(block.device)));
}

void release(void* context) {
  std::unique_ptr<Allocation> allocation(static_cast<Allocation*>(context));
  report(*allocation->block, -static_cast<int64_t>(allocation->block->bytes));
}

class Allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const int index = current_device();
    const c10::Device device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(index));
    if (bytes == 0) {
      return {nullptr, device};
    }
    auto block = std::make_shared<Block>(index, bytes);
    if (block->memory == nullptr) {
      const auto stats = pool(index).stats();
      c10::reportOutOfMemoryToProfiler(
          static_cast<int64_t>(bytes), stats.allocated_bytes[0].current, stats.reserved_bytes[0].current, device);
      TORCH_CHECK_WITH(OutOfMemoryError, false, "refdev: out of memory, tried to allocate ", bytes, " bytes");
    }
    report(*block, static_cast<int64_t>(block->bytes));
    void* memory = block->memory;
    return {memory, new Allocation{std::move(block)}, &release, device};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return nullptr; // the pointer alone does not lead to the allocation
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    synchronize_device(current_device());
    default_copy_data(to, from, bytes);
  }

  bool initialized() override {
    return true;
  }
  void emptyCache(c10::MempoolId_t) override {
    for (int device = 0; device < kDevices; ++device) {
      pool(device).trim();
    }
  }
  // Nothing to do: a block is reused only after every computation that was given it.
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    return pool(device).stats();
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    pool(device).change_stats([](auto& stat) { stat.reset_accumulated(); });
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    pool(device).change_stats([](auto& stat) { stat.reset_peak(); });
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    const auto used = static_cast<size_t>(pool(device).stats().allocated_bytes[0].current);
    return {kDeviceBytes - used, kDeviceBytes};
  }
};

Allocator the_allocator;
REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, &the_allocator)

} // namespace

c10::DeviceAllocator* allocator() {
  return &the_allocator;
}

at::Tensor host_view(const at::Tensor& tensor) {
  const auto& storage = tensor.storage().data_ptr();
  std::shared_ptr<Block> block;
  if (storage.get_context() != nullptr) {
    TORCH_CHECK(storage.get_deleter() == &release, "refdev: the tensor's memory is not the device's own");
    block = static_cast<Allocation*>(storage.get_context())->block;
  }
  auto* data = static_cast<char*>(storage.get());
  if (data != nullptr) {
    data += tensor.storage_offset() * tensor.dtype().itemsize();
  }
  return at::from_blob(
      data,
      tensor.sizes(),
      tensor.strides(),
      [block](void*) {},
      tensor.options().device(c10::kCPU).requires_grad(false));
}

} // namespace refdev
