#pragma once

// What CUDA can make only while no kernel runs, such as handles of its libraries, must exist before
// kernels of this thread wait for those of other threads of the process: otherwise a thread that
// makes it waits for the kernels of others, and they wait for this thread.

#include <weft/core/device.hpp>

namespace weft::detail {

/// Makes something for the calling thread, which uses `stream`.
using GpuWarmUp = void (*)(Device device, void* stream);

/// For static initialisers; returns true.
bool add_gpu_warm_up(GpuWarmUp warm_up);

/// Calls all functions that were added.
void warm_up_gpu(Device device);

}  // namespace weft::detail
