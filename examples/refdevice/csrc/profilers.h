#pragma once

namespace refdev {

void register_profiler_stubs();

// Where the events of the calling thread's last ProfilerStubs::elapsed() were recorded.
struct ElapsedStreams {
  int device = -1; // none was asked for yet
  int first = -1;
  int second = -1;
};
ElapsedStreams elapsed_streams();

void register_kineto_profiler();
void register_with_libkineto();
void record_no_activities();

} // namespace refdev
