#include <weft/core/cpu_level.hpp>
#include <weft/core/device_access.hpp>
#include <weft/core/error.hpp>
#include <weft/core/format.hpp>
#include <weft/core/parallel.hpp>

#include "core/copy_on_host.hpp"
#include "core/cuda_device.hpp"
#include "core/host_waits.hpp"

#include <charconv>
#include <cstring>

namespace weft {

Device Device::parse(std::string_view text) {
  const std::string_view kind = text.substr(0, text.find(':'));
  int ordinal = 0;
  bool valid = kind == "cpu" || kind == "debug" || kind == "cuda";
  if (kind.size() != text.size()) {
    const std::string_view number = text.substr(kind.size() + 1);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), ordinal);
    valid = valid && kind == "cuda" && error == std::errc() && ordinal >= 0 &&
            end == number.data() + number.size();
  }
  require(valid, "unknown device '{}': use cpu, debug, cuda or cuda:N", text);
  if (kind == "cpu") return cpu();
  return kind == "debug" ? debug() : cuda(ordinal);
}

std::string_view to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu: return "cpu";
    case DeviceKind::debug: return "debug";
    case DeviceKind::cuda: break;
  }
  return "cuda";
}

std::string to_string(Device device) {
  const std::string_view kind = to_string(device.kind);
  return device.kind == DeviceKind::cuda ? fmt::format("{}:{}", kind, device.ordinal)
                                         : std::string(kind);
}

int device_count(DeviceKind kind) {
  if (kind != DeviceKind::cuda) return 1;
#if defined(WEFT_WITH_CUDA)
  return detail::cuda_device_count();
#else
  return 0;
#endif
}

void require_available(Device device) {
  if (device.kind > DeviceKind::cuda) [[unlikely]] {
    throw DeviceError(fmt::format("there is no kind {} of devices", static_cast<int>(device.kind)));
  }
  if (device.kind != DeviceKind::cuda) {
    cpu_level();
    return;
  }
#if defined(WEFT_WITH_CUDA)
  const int count = device_count(DeviceKind::cuda);
  if (device.ordinal >= 0 && device.ordinal < count) return;
  throw DeviceError(fmt::format("device {} asked for, but this machine has {} GPU{}", device,
                                count == 0 ? "no" : std::to_string(count), count == 1 ? "" : "s"));
#else
  throw DeviceError(fmt::format("device {} asked for, but this build of Weft has no CUDA", device));
#endif
}

void detail::refuse_cuda(Device device) {
  require_available(device);
  throw DeviceError(fmt::format(
      "no kernel for {}: the calling file was compiled for CPUs only; add its kernels with "
      "weft_target_kernels in CMake, in a project that has enabled CUDA",
      to_string(device)));
}

void detail::copy_on_host(void* to, const void* from, std::size_t bytes) {
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  const auto length = static_cast<index_t>(bytes);
  const int threads = threads_for(length / index_t{sizeof(double)});
  share_rows(1, length, threads, [=](index_t, index_t begin, index_t end) {
    std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
  });
}

void copy_bytes(void* to, Device to_device, const void* from, Device from_device,
                std::size_t bytes) {
  if (bytes == 0) return;
#if defined(WEFT_WITH_CUDA)
  if (to_device.kind == DeviceKind::cuda || from_device.kind == DeviceKind::cuda) {
    detail::cuda_copy(to, to_device, from, from_device, bytes);
    return;
  }
#endif
  require_available(to_device);
  require_available(from_device);
  if (to_device.host_accessible() && from_device.host_accessible()) {
    detail::copy_on_host(to, from, bytes);
    return;
  }
  const detail::DebugAccess open;
  if (to_device.host_accessible()) detail::count_host_wait();
  std::memcpy(to, from, bytes);
}

}  // namespace weft
