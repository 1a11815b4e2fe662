#pragma once

#include "stream.h"

namespace refdev {

constexpr int kDevices = 2;
constexpr int kStreams = 4; // per device: the default stream 0 and a pool of three

// What a driver's runtime offers: devices, their streams, and which of them a thread has chosen.
Stream& stream(int device, int id);
Stream& next_pool_stream(int device); // in turn

int current_device();
void set_current_device(int device);
Stream& current_stream(int device);
void set_current_stream(const Stream& stream);

void synchronize_device(int device);

// Ends all worker threads; launches fail afterwards.
void stop_all();

} // namespace refdev
