#pragma once

#include <cstdint>

namespace refdev {

// The profiler's number of the operator that the calling thread is in (`External id` in the
// exported trace), 0 while nothing is recorded.
int64_t current_external_id();

// Makes current_external_id() work; once per process, before the first profile.
void listen_for_external_ids();

} // namespace refdev
