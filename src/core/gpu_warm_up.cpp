#include "core/gpu_warm_up.hpp"

#include <weft/core/stream.hpp>

#include <vector>

namespace weft::detail {
namespace {

std::vector<GpuWarmUp>& warm_ups() {
  static std::vector<GpuWarmUp> all;
  return all;
}

}  // namespace

bool add_gpu_warm_up(GpuWarmUp warm_up) {
  warm_ups().push_back(warm_up);
  return true;
}

void warm_up_gpu(Device device) {
  const Stream stream = Stream::current(device);
  for (const GpuWarmUp warm_up : warm_ups()) warm_up(device, stream.handle());
}

}  // namespace weft::detail
