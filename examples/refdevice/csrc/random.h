#pragma once

#include <cstdint>
#include <string>

namespace refdev {

void manual_seed(int device, uint64_t seed);
std::string rng_state(int device);
void set_rng_state(int device, const std::string& state);

} // namespace refdev
