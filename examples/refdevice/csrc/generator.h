#pragma once

#include <ATen/core/Generator.h>

namespace refdev {

// The device's random numbers. The generator is a CPU one because the kernels are the CPU's, but
// the device's own: random numbers drawn by the host meanwhile must not depend on the queue.
const at::Generator& generator(int device);

} // namespace refdev
