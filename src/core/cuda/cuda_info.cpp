#include "core/cuda_info.hpp"

#include <weft/core/error.hpp>

#include "core/cuda/cuda_check.hpp"

#include <cstdlib>
#include <functional>
#include <string_view>

namespace weft::detail {
namespace {

std::string version_text(int version) {
  if (version == 0) return {};
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

DeviceInfo cuda_device_info(Device device) {
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, device.ordinal), "cudaGetDeviceProperties");
  char bus_id[32] = "";
  cuda_check(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), device.ordinal),
             "cudaDeviceGetPCIBusId");
  return {properties.name, bus_id, static_cast<std::int64_t>(properties.totalGlobalMem),
          fmt::format("{}.{}", properties.major, properties.minor)};
}

std::string cuda_runtime_version() {
  int version = 0;
  cuda_check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
  return version_text(version);
}

std::string cuda_driver_version() {
  int version = 0;
  cuda_check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  return version_text(version);
}

std::uint64_t cuda_gpu_id(Device device) {
  cudaDeviceProp properties;
  cuda_check(cudaGetDeviceProperties(&properties, device.ordinal), "cudaGetDeviceProperties");
  return std::hash<std::string_view>{}({properties.uuid.bytes, sizeof(properties.uuid.bytes)});
}

int cuda_connections() {
  constexpr int unless_set = 8;
  const char* const set = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  return set == nullptr ? unless_set : std::atoi(set);
}

bool cuda_has_ipc(Device device) {
  // The attribute is that of events. CUDA has none for memory, which the same platforms support.
  int value = 0;
  cuda_check(cudaDeviceGetAttribute(&value, cudaDevAttrIpcEventSupport, device.ordinal),
             "cudaDeviceGetAttribute");
  return value != 0;
}

std::optional<bool> cuda_uses_mps(Device device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, cudaDevAttrMpsEnabled, device.ordinal) == cudaSuccess) {
    return value != 0;
  }
  cudaGetLastError();  // or a later call would report it
  return std::nullopt;
}

bool cuda_can_access(Device device, Device peer) {
  int value = 0;
  cuda_check(cudaDeviceCanAccessPeer(&value, device.ordinal, peer.ordinal),
             "cudaDeviceCanAccessPeer");
  return value != 0;
}

}  // namespace weft::detail
