#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace refdev {

struct Config;
class Stream;

// Throws in a child made by fork. Neither the workers nor who held a lock at that moment live on in
// it, so this comes before every lock; a child that uses the device would wait for ever.
void only_in_first_process();

// A point in a stream's order; what an event holds. Its time is on the device's clock, in ns.
struct MarkState {
  Stream* stream;
  uint64_t ticket; // the stream's tasks up to here
  std::atomic<int64_t> time_ns; // 0 until known: only a host-synchronous device finds it out late
  int64_t kernel_sum_ns; // duration of all that was launched on the stream before
};
using Mark = std::shared_ptr<MarkState>;

// The time that one launch occupies on the device, and when the host launched it. ns.
struct Span {
  int64_t launch_ns;
  int64_t start_ns;
  int64_t end_ns;
};

// An asynchronous first-in-first-out queue of one device.
//
// Two things happen to a launch. Its *times* come from a cost model and are fixed at the launch:
// it starts at max(host time + launch latency, end of what is before it + gap). Its *computation*
// runs on the stream's worker thread, in the same order. The times do not depend on when the worker
// gets a core, so they are exact and repeatable on a busy host, and the log of true times can be
// compared to the nanosecond; and since they are known at the launch, an event needs no thread to
// be recorded. What the host sees is real all the same: a launch never waits for the computation,
// and whoever synchronizes blocks until the computation is done *and* the clock has passed the time.
class Stream {
 public:
  Stream(int device, int id) : device_(device), id_(id) {}

  // Appends a computation that takes duration_ns on the device.
  Span launch(int64_t duration_ns, std::function<void()> compute);
  Mark record();
  // What is launched from now on starts only after the mark of another stream.
  void wait_for(const Mark& mark);

  // A point after everything launched so far, without the cost of a record.
  Mark tail();
  // Block the calling thread. They rethrow what a computation threw, as a device reports its errors.
  void synchronize();
  static void synchronize(const MarkState& mark);
  static bool done(const MarkState& mark);

  // A device that is to begin with a batch of launches only when it is full, or waited for: begins.
  void begin_batch();

  // Runs what is queued and ends the worker; for the end of the process.
  void stop();

  int device() const {
    return device_;
  }
  int id() const {
    return id_;
  }

 private:
  uint64_t enqueue(std::function<void()> task); // needs mutex_
  void work();
  void wait_for_task(std::unique_lock<std::mutex>& lock);
  void wait_for_ticket(uint64_t ticket);
  int64_t noisy(int64_t duration_ns, const Config& config);
  Span run_now(std::function<void()> compute);
  int64_t hold(const Config& config, int64_t now_ns); // needs launch_mutex_
  int64_t let_go(); // needs launch_mutex_; returns by how much later the batch begins, ns

  const int device_;
  const int id_;

  std::mutex launch_mutex_; // host times and queue order agree only if one thread launches at a time
  int64_t tail_ns_ = 0; // when the device has done all that was launched
  int64_t kernel_sum_ns_ = 0; // of all launches
  std::deque<int64_t> unfinished_; // ends of the last queue_depth launches
  int64_t held_since_ns_ = 0; // when the first launch of a batch was held back; 0: there is none
  int held_ = 0; // launches
  std::vector<Mark> held_marks_;
  int64_t marks_ = 0;
  int64_t noise_epoch_ = -1;
  std::mt19937_64 noise_;

  std::mutex mutex_; // guards what follows
  std::condition_variable submitted_changed_;
  std::condition_variable completed_changed_;
  std::deque<std::function<void()>> tasks_;
  uint64_t submitted_ = 0;
  uint64_t completed_ = 0;
  bool asleep_ = false; // the worker, until it is notified
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread worker_;
};

// By how much the host saw completions late because the worker was behind the device's clock. ns.
struct Lateness {
  int64_t count;
  int64_t total_ns;
  int64_t max_ns;
};
Lateness lateness(bool reset);

} // namespace refdev
