#include <weft/core/device_info.hpp>

#ifdef WEFT_WITH_CUDA
#include "core/cuda_info.hpp"
#endif

#include <unistd.h>

#include <fstream>

namespace weft {
namespace {

/// The processor by its own name.
std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace

DeviceInfo device_info(Device device) {
  require_available(device);
#ifdef WEFT_WITH_CUDA
  if (device.kind == DeviceKind::cuda) return detail::cuda_device_info(device);
#endif
  return {processor(), "", std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE), ""};
}

}  // namespace weft
