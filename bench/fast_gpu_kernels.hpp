#pragma once

// Baselines of fast_gpu_bench.

#include <cstddef>

namespace weft::bench {

/// Data of all ranks.
struct Inputs {
  const float* data[16];
  int count;
};

void launch_empty(void* stream);
/// One kernel that adds all inputs.
void launch_read(const Inputs& inputs, float* out, std::size_t count, void* stream);

}  // namespace weft::bench
