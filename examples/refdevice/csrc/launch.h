#pragma once

#include <functional>
#include <string>

#include "activity_log.h"
#include "stream.h"

namespace refdev {

// What the cost model and the logs know about a launch.
struct Work {
  const std::string* name; // interned
  Kind kind = Kind::kernel;
  int64_t bytes = 0; // read and written
  double flops = 0;
};

// The one way to the device: every kernel, copy and memset of the backend goes through here.
void launch(Stream& stream, const Work& work, std::function<void()> compute);

// Blocks like the runtime call of that name, and is logged as one.
void synchronize(Stream& stream);

} // namespace refdev
