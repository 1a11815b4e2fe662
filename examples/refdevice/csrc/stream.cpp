// The played device: a queue with a thread. Replace: all of it, by your driver's streams and events.
#include "stream.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include "activity_log.h"
#include "clock.h"
#include "config.h"

namespace refdev {

namespace {
std::mutex lateness_mutex;
Lateness lateness_so_far{};

void note_lateness(int64_t late_ns) {
  std::lock_guard lock(lateness_mutex);
  lateness_so_far.count += 1;
  lateness_so_far.total_ns += late_ns;
  lateness_so_far.max_ns = std::max(lateness_so_far.max_ns, late_ns);
}

constexpr auto kLookEvery = std::chrono::microseconds(50);
constexpr int kLooks = 400;

constexpr int kBatch = 64; // launches that a device with the fault "batches" waits for
constexpr int64_t kBackwards = 300'000; // by how much each eighth mark of one with the fault "backwards" is early, ns

const pid_t first_process = getpid();
} // namespace

void only_in_first_process() {
  if (getpid() != first_process && !config()->has("fork_hangs")) {
    throw std::runtime_error("refdev: cannot be used in a forked process, start it with spawn");
  }
}

Lateness lateness(bool reset) {
  std::lock_guard lock(lateness_mutex);
  return reset ? std::exchange(lateness_so_far, Lateness{}) : lateness_so_far;
}

int64_t Stream::noisy(int64_t duration_ns, const Config& config) {
  if (noise_epoch_ != config.epoch) {
    noise_epoch_ = config.epoch;
    noise_.seed(static_cast<uint64_t>(config.seed) * 1000 + device_ * 100 + id_);
  }
  if (config.jitter == 0) {
    return duration_ns;
  }
  const double noise = std::clamp(std::normal_distribution<double>()(noise_), -3.0, 3.0);
  return static_cast<int64_t>(std::llround(duration_ns * std::max(0.05, 1 + config.jitter * noise)));
}

Span Stream::launch(int64_t duration_ns, std::function<void()> compute) {
  only_in_first_process();
  const auto config = refdev::config();
  std::lock_guard launch_lock(launch_mutex_);
  if (config->host_synchronous()) {
    return run_now(std::move(compute));
  }
  const auto depth = static_cast<size_t>(config->queue_depth);
  if (depth > 0 && unfinished_.size() >= depth) {
    wait_until(unfinished_[unfinished_.size() - depth]);
    uint64_t behind = 0;
    {
      std::lock_guard lock(mutex_);
      behind = submitted_ > depth ? submitted_ - depth : 0;
    }
    wait_for_ticket(behind);
  }
  Span span{};
  {
    std::lock_guard lock(mutex_);
    span.launch_ns = now_ns();
    enqueue(std::move(compute));
  }
  int64_t latency = config->launch_latency_ns;
  duration_ns = std::max<int64_t>(1, noisy(duration_ns, *config));
  if (config->launch_jitter_ns > 0) {
    latency += std::uniform_int_distribution<int64_t>(0, config->launch_jitter_ns)(noise_);
  }
  const int64_t began_ns = hold(*config, span.launch_ns);
  span.start_ns = std::max(began_ns + latency, tail_ns_ + config->kernel_gap_ns);
  span.end_ns = span.start_ns + duration_ns;
  tail_ns_ = span.end_ns;
  kernel_sum_ns_ += duration_ns;
  unfinished_.push_back(span.end_ns);
  if (config->has("batches") && ++held_ >= kBatch) {
    --held_; // the caller logs this one
    const int64_t later = let_go();
    span.start_ns += later;
    span.end_ns += later;
  }
  while (unfinished_.size() > 1 && unfinished_.front() <= span.launch_ns) {
    unfinished_.pop_front();
  }
  return span;
}

// While a batch is held back, the host's time stands still: all of it comes as much later as the first
// was held back.
int64_t Stream::hold(const Config& config, int64_t now_ns) {
  if (!config.has("batches")) {
    return now_ns;
  }
  held_since_ns_ = held_since_ns_ == 0 ? now_ns : held_since_ns_;
  return held_since_ns_;
}

int64_t Stream::let_go() {
  const int64_t later = held_since_ns_ == 0 ? 0 : now_ns() - held_since_ns_;
  tail_ns_ += later;
  for (const Mark& mark : held_marks_) {
    mark->time_ns += later;
  }
  delay_activities(device_, id_, held_, later);
  held_marks_.clear();
  held_since_ns_ = held_ = 0;
  return later;
}

void Stream::begin_batch() {
  std::lock_guard launch_lock(launch_mutex_);
  let_go();
}

// A device without a queue: the operator runs on the host's thread, for as long as that takes.
Span Stream::run_now(std::function<void()> compute) {
  uint64_t before = 0;
  {
    std::lock_guard lock(mutex_);
    before = submitted_;
  }
  wait_for_ticket(before);
  Span span{};
  span.launch_ns = span.start_ns = now_ns();
  compute();
  span.end_ns = tail_ns_ = now_ns();
  kernel_sum_ns_ += span.end_ns - span.start_ns;
  return span;
}

Mark Stream::record() {
  only_in_first_process();
  const auto config = refdev::config();
  auto mark = std::make_shared<MarkState>();
  mark->stream = this;
  std::lock_guard launch_lock(launch_mutex_);
  std::lock_guard lock(mutex_);
  mark->kernel_sum_ns = kernel_sum_ns_;
  if (config->host_synchronous()) {
    mark->ticket = enqueue([mark] { mark->time_ns = now_ns(); });
  } else {
    // The timestamp is taken when the record is done, so two in a row are event_cost_ns apart.
    tail_ns_ = std::max(hold(*config, now_ns()) + config->launch_latency_ns, tail_ns_) + config->event_cost_ns;
    const bool early = config->has("backwards") && ++marks_ % 8 == 0;
    mark->time_ns = early ? tail_ns_ - kBackwards : tail_ns_;
    mark->ticket = submitted_;
    if (config->has("batches")) {
      held_marks_.push_back(mark);
    }
  }
  return mark;
}

void Stream::wait_for(const Mark& mark) {
  only_in_first_process();
  if (mark->stream == this) {
    return;
  }
  std::lock_guard launch_lock(launch_mutex_);
  tail_ns_ = std::max(tail_ns_, mark->time_ns.load());
  std::lock_guard lock(mutex_);
  enqueue([mark] { mark->stream->wait_for_ticket(mark->ticket); });
}

Mark Stream::tail() {
  only_in_first_process();
  begin_batch();
  auto mark = std::make_shared<MarkState>();
  mark->stream = this;
  std::lock_guard launch_lock(launch_mutex_);
  std::lock_guard lock(mutex_);
  mark->ticket = submitted_;
  mark->time_ns = tail_ns_;
  mark->kernel_sum_ns = kernel_sum_ns_;
  return mark;
}

void Stream::synchronize() {
  synchronize(*tail());
}

void Stream::synchronize(const MarkState& mark) {
  Stream& recorded_on = *mark.stream;
  recorded_on.begin_batch();
  recorded_on.submitted_changed_.notify_one(); // whoever waits wants the worker to look now
  wait_until(mark.time_ns);
  bool late = false;
  {
    std::lock_guard lock(recorded_on.mutex_);
    late = recorded_on.completed_ < mark.ticket;
  }
  if (late) {
    const int64_t due = now_ns();
    recorded_on.wait_for_ticket(mark.ticket);
    note_lateness(now_ns() - due);
  }
  std::exception_ptr error;
  {
    std::lock_guard lock(recorded_on.mutex_);
    error = std::exchange(recorded_on.error_, nullptr);
  }
  if (error) {
    std::rethrow_exception(error);
  }
}

bool Stream::done(const MarkState& mark) {
  only_in_first_process();
  mark.stream->begin_batch();
  std::lock_guard lock(mark.stream->mutex_);
  return mark.stream->completed_ >= mark.ticket && now_ns() >= mark.time_ns;
}

uint64_t Stream::enqueue(std::function<void()> task) {
  if (stopping_) {
    throw std::runtime_error("refdev: the device has been shut down");
  }
  if (!worker_.joinable()) {
    worker_ = std::thread([this] { work(); });
  }
  tasks_.push_back(std::move(task));
  if (asleep_) {
    submitted_changed_.notify_one();
  }
  return ++submitted_;
}

// Waking a sleeping thread costs the host's launch ten microseconds and more, which a real launch
// does not. So an idle worker looks by itself for a while, and sleeps only when nothing comes.
void Stream::wait_for_task(std::unique_lock<std::mutex>& lock) {
  for (int looks = 0; tasks_.empty() && !stopping_; ++looks) {
    if (looks < kLooks) {
      submitted_changed_.wait_for(lock, kLookEvery);
    } else {
      asleep_ = true;
      submitted_changed_.wait(lock);
    }
  }
  asleep_ = false;
}

void Stream::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wait_for_task(lock);
    if (tasks_.empty()) {
      return;
    }
    {
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      try {
        task();
      } catch (...) {
        lock.lock();
        error_ = error_ ? error_ : std::current_exception();
        lock.unlock();
      }
    } // what the task kept alive is released before it counts as completed
    lock.lock();
    ++completed_;
    completed_changed_.notify_all();
  }
}

void Stream::wait_for_ticket(uint64_t ticket) {
  std::unique_lock lock(mutex_);
  submitted_changed_.notify_one();
  completed_changed_.wait(lock, [&] { return completed_ >= ticket; });
}

void Stream::stop() {
  if (getpid() != first_process) {
    return; // there is no worker to wait for
  }
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    submitted_changed_.notify_one();
  }
  if (worker_.joinable()) {
    worker_.join();
  }
}

} // namespace refdev
