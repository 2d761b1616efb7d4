#include "comm/cuda/gpu_allocation.hpp"

#include <cuda.h>
#include <cuda_runtime.h>

namespace weft::detail {
namespace {

using GetAttribute = CUresult (*)(void*, CUpointer_attribute, CUdeviceptr);

/// The driver's function, so that the library need not be linked with the driver; null without one.
GetAttribute find_get_attribute() {
  constexpr const char* name = "cuPointerGetAttribute";
  void* found = nullptr;
#if CUDART_VERSION >= 12050
  constexpr unsigned since = 4000;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &found, since, cudaEnableDefault, nullptr);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, nullptr);
#endif
  if (error != cudaSuccess) cudaGetLastError();  // or a later call would report it
  return error == cudaSuccess ? reinterpret_cast<GetAttribute>(found) : nullptr;
}

/// False without a driver, or if it does not know the address.
template <class T>
bool get(T& value, CUpointer_attribute attribute, const void* address) {
  static const GetAttribute get_attribute = find_get_attribute();
  if (get_attribute == nullptr || address == nullptr) return false;
  return get_attribute(&value, attribute, reinterpret_cast<CUdeviceptr>(address)) == CUDA_SUCCESS;
}

}  // namespace

std::optional<GpuAllocation> gpu_allocation_of(const void* address) {
  GpuAllocation allocation;
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  void* begin = nullptr;
  unsigned long long id = 0;
  int exportable = 0;
  if (!get(type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) || type != CU_MEMORYTYPE_DEVICE ||
      !get(begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) ||
      !get(allocation.bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) ||
      !get(id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address)) {
    return std::nullopt;
  }
  // Drivers that do not know the attribute do not have other memory either.
  if (!get(exportable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address)) exportable = 1;
  allocation.begin = static_cast<std::byte*>(begin);
  allocation.id = id;
  allocation.exportable = exportable != 0;
  return allocation;
}

std::uint64_t gpu_allocation_id(const void* address) {
  unsigned long long id = 0;
  return get(id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address) ? id : 0;
}

}  // namespace weft::detail
