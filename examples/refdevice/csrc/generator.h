#pragma once

#include <ATen/core/Generator.h>

namespace refdev {

// The device's own random numbers, torch.Generator(device="refdev").
const at::Generator& generator(int device);
at::Generator new_generator(int device);

// What a kernel draws from, as the kernels are the CPU's: behind one of the device, not the host's
// own. Numbers that the host draws meanwhile must not depend on the queue.
at::Generator drawn_from(const at::Generator& generator);

} // namespace refdev
