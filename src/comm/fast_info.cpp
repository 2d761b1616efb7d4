#include "comm/fast_info.hpp"

#include <weft/core/device.hpp>
#include <weft/core/error.hpp>

#include "comm/self_transport.hpp"
#include "comm/shared_segment.hpp"
#include "core/printable.hpp"
#ifdef WEFT_WITH_CUDA
#include "core/cuda_info.hpp"
#ifdef WEFT_WITH_MPI
#include "comm/mpi_library.hpp"
#endif
#endif

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace weft::detail {
namespace {

std::string peer_access(const GpuSharing& sharing) {
  if (sharing.gpus == 1) return "there is one GPU";
  return sharing.without_access.empty() ? "between all GPUs"
                                        : "not between " + sharing.without_access;
}

std::string mps(const GpuSharing& sharing) {
  if (!sharing.mps) return "unknown: the driver does not tell";
  return *sharing.mps ? "runs" : "does not run: processes on one GPU run in turns";
}

/// The route of two ranks on one GPU.
Route route_of_two(std::string_view host, const RouteFacts& rank) {
  try {
    return choose_route(host, std::array{rank, rank});
  } catch (const AgreedError& error) {
    return {"refused", error.what()};
  }
}

std::string process_route(const GpuSharing& sharing) {
  const Route route = route_of_two("mpi", sharing.rank);
  std::string text = fmt::format("{}: {}", route.name, route.reason);
  if (route.name != "fast") return text;
  if (sharing.rank.request == RouteRequest::fast) {
    if (!sharing.ipc) return text + "; it will fail, since there is no CUDA IPC";
    return sharing.mps == false ? text + "; slow without MPS" : text;
  }
  const char* const missing = !sharing.ipc ? "CUDA IPC" : sharing.mps == false ? "MPS" : nullptr;
  if (missing == nullptr) return text;
  const Route instead = choose_route("mpi", std::array{sharing.rank, sharing.rank},
                                     fmt::format("there is no {}", missing));
  return fmt::format("{}: {}", instead.name, instead.reason);
}

#ifdef WEFT_WITH_CUDA
GpuSharing this_gpu_sharing() {
  GpuSharing sharing;
  sharing.gpus = device_count(DeviceKind::cuda);
  sharing.rank = local_route_facts(*make_self_transport(), Device::cuda());
#ifdef WEFT_WITH_MPI
  sharing.rank.cuda_aware_mpi = mpi_is_cuda_aware() ? 1 : 0;
#endif
  sharing.ipc = cuda_has_ipc(Device::cuda());
  sharing.mps = cuda_uses_mps(Device::cuda());
  for (int from = 0; from < sharing.gpus; ++from) {
    for (int to = 0; to < sharing.gpus && sharing.without_access.empty(); ++to) {
      if (from == to || cuda_can_access(Device::cuda(from), Device::cuda(to))) continue;
      sharing.without_access = fmt::format("cuda:{} and cuda:{}", from, to);
    }
  }
  return sharing;
}
#endif

}  // namespace

InfoLines gpu_sharing_info(const GpuSharing& sharing) {
  const Route threads = route_of_two("thread", sharing.rank);
  return {{"hardware queues", std::to_string(sharing.rank.connections)},
          {"CUDA IPC", sharing.ipc ? "supported" : "not supported"},
          {"peer access", peer_access(sharing)},
          {"CUDA MPS", mps(sharing)},
          {"threads on one GPU", fmt::format("{}: {}", threads.name, threads.reason)},
          {"processes on one GPU", process_route(sharing)}};
}

std::string shared_memory_error() {
  if (!settings().fast) return "WEFT_FAST=0";
  constexpr std::size_t bytes = 4096;
  auto made = SharedSegment::make(*make_self_transport(), {0}, bytes);
  if (made.segment == nullptr) return made.error;
  // Processes open the memory of the first one by its entry there.
  constexpr const char* files = "/proc/self/fd";
  if (access(files, R_OK | X_OK) == 0) return {};
  return fmt::format("cannot open {}: {}", files, std::strerror(errno));
}

InfoLines fast_allreduce_info() {
  constexpr std::size_t longest_path = 200;
  const Settings& set = settings();
  const std::string error = shared_memory_error();
  InfoLines lines = {
      {"shared memory", error.empty() ? "yes" : "no: " + error},
      {"table",
       set.table.empty() ? "built in" : printable(set.table, longest_path) + ", by WEFT_TABLE"},
      {"order", set.order == ReduceOrder::by_rank ? "of the ranks" : "any, by WEFT_ORDER"}};
#ifdef WEFT_WITH_CUDA
  if (device_count(DeviceKind::cuda) > 0) {
    for (auto& line : gpu_sharing_info(this_gpu_sharing())) lines.push_back(std::move(line));
  }
#endif
  return lines;
}

}  // namespace weft::detail
