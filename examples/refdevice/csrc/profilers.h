#pragma once

namespace refdev {

void register_profiler_stubs();
void register_kineto_profiler();

} // namespace refdev
