#pragma once

namespace refdev {

void register_kineto_profiler();
void register_with_libkineto();
void record_no_activities();
void record_counters();

} // namespace refdev
